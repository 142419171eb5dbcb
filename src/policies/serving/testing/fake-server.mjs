#!/usr/bin/env node
/**
 * A model server for tests: takes the command line of `vllm serve` or of SGLang, answers with the folder that it serves and the seed it was
 * sent, and writes what happens to FAKE_LEDGER, a line each. FAKE_FAULT makes it fail; with FAKE_ONCE (a file) it does so once.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const args = process.argv.slice(2);
const option = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
let model = option("--model-path") ?? args[0];
const name = option("--served-model-name");
const { FAKE_LEDGER: ledger, FAKE_ONCE: once, FAKE_FAULT: wanted = "", FAKE_ANSWER: answer } = process.env;
const fault = wanted !== "" && (once === undefined || !existsSync(once)) ? wanted : "";
if (fault !== "" && once !== undefined) writeFileSync(once, "");
const note = (line) => ledger !== undefined && appendFileSync(ledger, `${line}\n`);
let asked = 0;
let isPaused = false;

note(`start ${model} ${process.pid}`);
console.log(`loading ${model}`);
if (fault === "dies-at-start") {
  console.error("torch.OutOfMemoryError: CUDA out of memory");
  process.exit(1);
}
process.on("SIGTERM", () => {
  note(`stop ${model}`);
  process.exit(0);
});

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
  const reply = (status, value) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  if (fault === "falls-silent" && asked > 2) return;
  switch (request.url) {
    case "/health":
      return reply(fault === "never-healthy" || (fault === "falls-ill" && asked > 0) ? 503 : 200, {});
    case "/v1/models":
      return reply(200, { data: [{ id: fault === "other-name" ? "other" : name, root: fault === "other-weights" ? "/other" : model }] });
    case "/pause_generation":
      note("pause");
      isPaused = true;
      return reply(200, { status: "ok" });
    case "/continue_generation":
      note("continue");
      isPaused = false;
      return reply(200, { status: "ok" });
    case "/update_weights_from_disk":
      note(`update ${body.model_path}${isPaused ? "" : " unpaused"}`);
      if (fault === "refuses-weights") return reply(400, { success: false, message: "the shapes differ" });
      if (fault !== "keeps-weights") model = body.model_path;
      return reply(200, { success: true, message: "Succeeded to update model weights." });
    case process.env.FAKE_OLD === undefined ? "/model_info" : "/get_model_info":
      return reply(200, { model_path: model });
    case "/v1/chat/completions":
      break;
    default:
      return reply(404, {});
  }
  asked++;
  if (body.model !== name) return reply(404, { error: { message: `The model ${body.model} does not exist.` } });
  if (fault === "dies-amid" && asked > 3) {
    console.error("EngineDeadError: EngineCore encountered an issue");
    process.exit(1);
  }
  const prompt = body.messages.at(-1).content;
  if (fault === "falls-ill" || (fault === "refuses-some" && prompt.includes("bad"))) {
    return reply(400, { error: { message: "maximum context length exceeded" } });
  }
  note(`ask ${model}`);
  const content = answer ?? `${model} ${prompt} ${body.seed} ${JSON.stringify(body.chat_template_kwargs ?? null)} ${body.top_p}`;
  reply(200, {
    id: "x",
    model: name,
    choices: Array.from({ length: body.n ?? 1 }, (_, index) => ({ index, message: { content }, finish_reason: "stop" })),
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  });
});
server.listen(Number(option("--port")), option("--host"));
