/**
 * The closed loop with its checkpoints behind a server: the embedded engine's own server in a process of its own, with real training, and
 * the recipe paper-verl with stand-ins for verl and vLLM that take the command lines of the real ones.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadRecipe } from "../src/cli/recipes.js";
import {
  type EnvironmentFamily,
  type InstanceBase,
  InterruptedError,
  proposalSchema,
  type Recipe,
  type RunEvent,
  recipeSchema,
  ServingError,
  validationReportSchema,
} from "../src/core/index.js";
import { familyByName } from "../src/environments/index.js";
import { contextOfStage, resumeLoop, runLoop } from "../src/loop/index.js";
import { accuracyWeight } from "../src/rewards/index.js";
import { RunFolder } from "../src/store/index.js";
import { callCli } from "./call-cli.js";
import { folderBytes } from "./folder-bytes.js";
import { MAIN, runCli, TSX } from "./run-cli.js";

const ROOT = join(import.meta.dirname, "..");
const dir = mkdtempSync(join(tmpdir(), "envwright-served-run-"));
const at = (name: string) => join(dir, name);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What differs between a served run and one that is not, and its clock. */
const APART = ["run.json", "serving.log"];
const processesOf = (log: string): number[] =>
  existsSync(log) ? Array.from(readFileSync(log, "utf8").matchAll(/^pid (\d+)$/gm), ([, pid]) => Number(pid)) : [];
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("the embedded engine's checkpoints behind its own server", () => {
  const pids = at("pids.log");
  // The shell tells its process id, which the server then has.
  const script = 'echo "pid $$" >> "$0"; exec "$@"';
  const serve = [process.execPath, "--import", TSX, MAIN, "serve", "--openai", "--policy", "embedded:{model}"];
  const serving = {
    kind: "command",
    command: ["sh", "-c", script, pids, ...serve, "--port", "{port}", "--served-model-name", "{name}", "--workers", "1"],
    startup_timeout: 120,
  };
  const recipe = (over: object = {}): Recipe =>
    recipeSchema.parse({
      name: "served",
      stages: 3,
      instances: 48,
      initial: "given",
      config: {
        agents: [2],
        sizes: { "3": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.3 }, "4": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.3 } },
      },
      base: "assets/base-tiny",
      validation: { count: 40, max_tokens: 48 },
      held_out: { count: 12 },
      trainer: { kind: "embedded", grpo: { steps: 2, prompts: 6, group: 4, max_tokens: 48, optimiser: { lr: 0.002, warmup: 1 } } },
      // It computes its proposals from what the evaluation found: equal verdicts, equal configs.
      engineer: { name: "rule" },
      workers: 1,
      ...over,
    });
  let own: Record<string, string>;
  const events: RunEvent[] = [];

  beforeAll(async () => {
    await runLoop({ recipe: recipe(), recipeDir: ROOT, out: at("own") });
    own = folderBytes(at("own"), APART);
    await runLoop({ recipe: recipe({ serving }), recipeDir: ROOT, out: at("served"), onEvent: (event) => events.push(event) });
  });

  test("give the run that the engine itself gives, byte for byte: verdicts, proposals, checkpoints", async () => {
    expect(folderBytes(at("served"), APART)).toEqual(own);
    const folder = await RunFolder.open(at("served"));
    const rates = await Promise.all([0, 1, 2].map((i) => folder.readRecord(i, "validation.json", validationReportSchema)));
    expect(rates.every(({ total, failed }) => total.valid.rate > 0.2 && total.valid.rate < 1 && failed === 0)).toBe(true);
  });

  test("are served one at a time, each by its own folder, and never while the trainer trains", () => {
    const story = events.flatMap((event) => {
      if (event.type === "serving" && event.state !== "starting") return [`${event.state} ${event.checkpoint}`];
      if (event.type === "phase-started" && event.phase !== "generate" && event.phase !== "diagnose") return [event.phase];
      return [];
    });
    const stage = (i: number) => [`stopped ${i}`, "train", "evaluate", `ready ${i + 1}`, "propose"];
    expect(story).toEqual([
      ...["evaluate", "ready 0", ...stage(0), ...stage(1), "stopped 2", "train", "evaluate", "ready 3"],
      // Held out: the last checkpoint is up already.
      ...["evaluate", "evaluate", "stopped 3", "ready 0", "stopped 0"],
    ]);
    const served = (path: string) => /--policy embedded:(\S+)/.exec(readFileSync(at(path), "utf8"))?.[1];
    expect(served("served/serving.log")).toBe(join(ROOT, "assets/base-tiny"));
    for (const i of [0, 1, 2]) expect(served(`served/stages/0${i}/serving.log`)).toBe(at(`served/stages/0${i}/checkpoint`));
    expect(processesOf(pids)).toHaveLength(5);
    expect(processesOf(pids).filter(isAlive)).toEqual([]);
  });

  test("a run that is killed while a server answers leaves none behind, and resumes to the same bytes", async () => {
    writeFileSync(at("served.json"), JSON.stringify({ ...recipe({ serving }), base: join(ROOT, "assets/base-tiny") }));
    let sent = false;
    const killed = await runCli(["run", at("served.json"), "--out", at("killed")], {
      onStderr: (text, kill) => {
        if (sent || !text.includes("stage 0: server of its checkpoint is ready")) return;
        sent = true;
        kill("SIGKILL");
      },
    });
    expect([sent, killed.code]).toEqual([true, null]);
    const until = Date.now() + 60_000;
    while (processesOf(pids).some(isAlive) && Date.now() < until) await sleep(100);
    expect(processesOf(pids).filter(isAlive)).toEqual([]);
    await resumeLoop(at("killed"));
    expect(folderBytes(at("killed"), APART)).toEqual(own);
  });

  test("Ctrl-C while a server starts stops it, and the run can be resumed", async () => {
    const controller = new AbortController();
    const stopped = runLoop({
      recipe: recipe({ serving }),
      recipeDir: ROOT,
      out: at("interrupted"),
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === "serving" && event.state === "starting" && event.checkpoint === 1) setTimeout(() => controller.abort(), 100);
      },
    });
    await expect(stopped).rejects.toThrow(InterruptedError);
    expect(processesOf(pids).filter(isAlive)).toEqual([]);
    expect((await (await RunFolder.open(at("interrupted"))).readEvents()).at(-1)?.type).toBe("run-interrupted");
  });
});

describe("paper-verl as a loop, with stand-ins for verl and vLLM", () => {
  const ledger = at("ledger");
  const vllm = join(ROOT, "src/policies/serving/testing/fake-server.mjs");
  const verl = join(ROOT, "src/trainers/testing/fake-engine.mjs");
  const answer = "Agent 0: STAY\nAgent 1: STAY";

  /** The shipped recipe, smaller; its base is a folder here, as there is no hub. */
  function paper(name: string, environment: Record<string, string> = {}) {
    writeFileSync(ledger, "");
    const small = ["instances=16", "validation.count=16", "trainer.grpo.steps=1", "trainer.grpo.prompts=8", "workers=1"];
    const served = { ...{ FAKE_LEDGER: ledger, FAKE_ANSWER: answer }, ...environment };
    const { recipe } = loadRecipe("paper-verl", [
      ...small,
      `base=${join(ROOT, "assets/base-tiny")}`,
      `trainer.python=${verl}`,
      `serving.command=[${vllm}]`,
      `serving.environment=${JSON.stringify(served)}`,
    ]);
    return { recipe, out: at(name), recipeDir: ROOT };
  }
  const lines = () =>
    readFileSync(ledger, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.replace(/ \d+$/, ""));

  test("every stage is trained, served from its own checkpoint, evaluated on it and asked for the next config", async () => {
    const run = paper("paper");
    const events: RunEvent[] = [];
    await runLoop({ ...run, onEvent: (event) => events.push(event) });
    const folder = await RunFolder.open(run.out);
    const models = [run.recipe.base, ...[0, 1, 2].map((i) => folder.path(i, "checkpoint"))];
    // 16 boards, and after the first two stages three attempts of an engineer that says no config.
    const asks = [16, 19, 19, 16];
    expect(lines()).toEqual(models.flatMap((model, i) => [`start ${model}`, ...Array(asks[i]).fill(`ask ${model}`), `stop ${model}`]));
    expect(events.filter((e) => e.type === "validation").map((e) => e.type === "validation" && e.total.n)).toEqual([16, 16, 16, 16]);
    const proposal = await folder.readRecord(0, "proposal.json", proposalSchema);
    expect(proposal.attempts.map(({ raw }) => raw)).toEqual([answer, answer, answer]);
    expect(proposal.outcome).toBe("rejected");
    // The weights that it is told are those of the engine's own checkpoint, and a stored stage is asked through a server again.
    const { ema_valid } = JSON.parse(readFileSync(folder.path(0, "checkpoint/engine_state.json"), "utf8")).scorer;
    const context = await contextOfStage(folder, 0, familyByName("mapf-frozenlake") as EnvironmentFamily<unknown, InstanceBase>);
    expect(context.training.accuracy_weight).toBe(accuracyWeight(ema_valid, run.recipe.reward));
    const again = await callCli(["propose", "--from", folder.folder(0), "--json"]);
    expect(JSON.parse(again.stdout).proposals).toEqual([proposal]);
    expect(lines().slice(-5)).toEqual([`start ${models[1]}`, ...Array(3).fill(`ask ${models[1]}`), `stop ${models[1]}`]);
    const command = readFileSync(folder.path(2, "serving.log"), "utf8").split("\n", 1)[0];
    expect(command).toMatch(
      /checkpoint --host 127.0.0.1 --port \d+ --served-model-name policy .*--max-model-len \d+ --generation-config vllm$/,
    );
  });

  test("a server that dies in every evaluation ends the run with its log, and the run goes on from that stage once it is well", async () => {
    const once = at("well");
    const ill = paper("ill", { FAKE_FAULT: "dies-amid" });
    const recipe = { ...ill.recipe, serving: { ...ill.recipe.serving!, retries: 0 } };
    const error = await runLoop({ ...ill, recipe }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ServingError);
    expect((error as ServingError).explain()).toContain("EngineDeadError");
    expect(existsSync(join(ill.out, "base-validation.json"))).toBe(false);
    writeFileSync(once, "");
    process.env.FAKE_ONCE = once;
    try {
      const folder = await resumeLoop(ill.out);
      expect((await folder.readEvents()).at(-1)?.type).toBe("run-finished");
    } finally {
      delete process.env.FAKE_ONCE;
    }
  });
});
