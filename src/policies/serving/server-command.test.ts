import { expect, test } from "vitest";
import { recipeSchema, type ServingOptions, servingOptionsSchema } from "../../core/index.js";
import { serverCommand } from "./server-command.js";
import { servingTraps } from "./serving-traps.js";

const words = (options: object) => {
  const { command, args } = serverCommand(servingOptionsSchema.parse(options), { model: "/runs/a/stages/00/checkpoint", port: 8123 }, "/");
  return [command, ...args].join(" ");
};

// The flags as vLLM 0.32 (engine/arg_utils.py) and SGLang 0.5.23 (srt/arg_groups/fields) declare them.
test("vLLM is given the checkpoint, its place, its share of the GPUs and no sampling of the checkpoint's own", () => {
  expect(words({ kind: "vllm" })).toBe(
    "vllm serve /runs/a/stages/00/checkpoint --host 127.0.0.1 --port 8123 --served-model-name policy --tensor-parallel-size 1 --gpu-memory-utilization 0.9 --generation-config vllm",
  );
  const more = { tensor_parallel: 2, data_parallel: 4, gpu_memory: 0.85, max_model_len: 16_384, extra_args: ["--enforce-eager"] };
  expect(words({ kind: "vllm", command: ["python", "-m", "vllm.entrypoints.cli.main", "serve"], served_model_name: "me", ...more })).toBe(
    "python -m vllm.entrypoints.cli.main serve /runs/a/stages/00/checkpoint --host 127.0.0.1 --port 8123 --served-model-name me --tensor-parallel-size 2 --data-parallel-size 4 --gpu-memory-utilization 0.85 --max-model-len 16384 --generation-config vllm --enforce-eager",
  );
});

test("SGLang is given the same under its own names", () => {
  const more = { tensor_parallel: 2, data_parallel: 4, gpu_memory: 0.85, max_model_len: 16_384, extra_args: ["--enable-metrics"] };
  expect(words({ kind: "sglang", ...more })).toBe(
    "python3 -m sglang.launch_server --model-path /runs/a/stages/00/checkpoint --host 127.0.0.1 --port 8123 --served-model-name policy --tp-size 2 --dp-size 4 --mem-fraction-static 0.85 --context-length 16384 --sampling-defaults openai --enable-metrics",
  );
});

test("a command of one's own has its placeholders filled in, wherever they stand", () => {
  const command = ["srv", "--at", "http://{host}:{port}", "{model}", "--alias={name}", "{other}"];
  expect(words({ kind: "command", command })).toBe("srv --at http://127.0.0.1:8123 /runs/a/stages/00/checkpoint --alias=policy {other}");
});

test("a command that could not know what to serve, or where, is refused", () => {
  const refused = (options: object) => servingOptionsSchema.safeParse({ kind: "command", ...options }).error?.issues[0]?.message;
  expect(refused({ command: ["srv", "{port}"] })).toMatch(/no \{model\}/);
  expect(refused({ command: ["srv", "{model}"] })).toMatch(/no \{port\}/);
  expect(refused({ command: ["srv", "{model}"], port: 8000 })).toBeUndefined();
  expect(refused({ command: ["srv", "{model}", "{port}"], tensor_parallel: 2 })).toMatch(/tensor_parallel/);
});

const trapsOf = (serving: object, over: object = {}): string[] =>
  servingTraps(
    recipeSchema.parse({
      ...{ name: "t", rendering: "chat", stages: 1, instances: 1, config: {}, base: "b", serving },
      ...{ trainer: { kind: "verl", gpus_per_node: 8 }, validation: { max_tokens: 4096 } },
      ...over,
    }),
  );
const verl = { kind: "verl", gpus_per_node: 8, environment: { CUDA_VISIBLE_DEVICES: "0,1,2,3" } };

test("nothing is said against a section that fits its trainer, nor where nothing is served", () => {
  expect(trapsOf({ kind: "vllm", data_parallel: 8, max_model_len: 12_288, thinking: false })).toEqual([]);
  expect(trapsOf({ kind: "command", command: ["{model}", "{port}", "{name}"] }, { rendering: "compact" })).toEqual([]);
  const bare = { kind: "vllm", extra_args: ["--chat-template", "bare.jinja"] };
  expect(trapsOf(bare, { rendering: "compact" })).toEqual([]);
  const apart = { kind: "sglang", weights: "update", environment: { CUDA_VISIBLE_DEVICES: "6,7" } };
  expect(trapsOf(apart, { trainer: verl })).toEqual([]);
  expect(servingTraps(recipeSchema.parse({ name: "t", stages: 1, instances: 1, config: {}, base: "b" }))).toEqual([]);
});

const vllm: ServingOptions["kind"] = "vllm";
test.each<[string, object, object, RegExp]>([
  ["an address for everybody", { kind: vllm, host: "0.0.0.0" }, {}, /no key/],
  ["a port of the system", { kind: vllm, port: 80 }, {}, /serving.port 80 /],
  ["a model that the server is not told the name of", { kind: "command", command: ["{model}", "{port}"] }, {}, /has no \{name\}/],
  ["compact prompts in a chat template", { kind: vllm }, { rendering: "compact" }, /chat template/],
  ["another name on the command line", { kind: vllm, extra_args: ["--served-model-name=x"] }, {}, /--served-model-name=x, which/],
  ["no room for an answer", { kind: vllm, max_model_len: 6000 }, { engineer: { name: "rule" } }, /validation \(6144 tokens\)/],
  ["no room for the engineer", { kind: vllm, max_model_len: 12_000 }, {}, /answer \(12288 tokens/],
  ["more GPUs than a machine has", { kind: vllm, tensor_parallel: 4, data_parallel: 4 }, {}, /takes 16 GPUs .* has 8/],
  ["thinking that was not trained", { kind: vllm, thinking: true }, {}, /evaluated otherwise/],
  ["a server on the trainer's GPUs", { kind: "sglang", weights: "update" }, { trainer: verl }, /nothing says that their GPUs are apart/],
  [
    "a server on some of them",
    { kind: "sglang", weights: "update", environment: { CUDA_VISIBLE_DEVICES: "3,4" } },
    { trainer: verl },
    /apart/,
  ],
])("%s is a trap", (_, serving, over, trap) => {
  expect(trapsOf(serving, over)).toEqual([expect.stringMatching(trap)]);
});
