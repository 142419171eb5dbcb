/**
 * The OpenEnv server under the clients that others wrote: OpenEnv's validator and its Python client, and verifiers with our taskset. They need
 * two Pythons, as the two want different releases of `mcp` (docs/scale-out.md); skipped without.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mapfFrozenLake as lake, optimalPlan } from "../src/environments/mapf-frozenlake/index.js";
import { type Host, startHost } from "../src/server/host.js";
import { openEnvPart } from "../src/server/openenv/index.js";
import { because, findPython } from "./pythons.js";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const openenv = findPython(["openenv"], "ENVWRIGHT_OPENENV_PYTHON", ".venv-openenv");
const verifiers = findPython(["verifiers", "envwright_verifiers"]);

const SEED = 7;
let host: Host;
const answers: string[] = [];
let moves: string[][] = [];

beforeAll(async () => {
  host = await startHost({ parts: [openEnvPart({ version: "test" })], host: "127.0.0.1", port: 0 });
  for (let seed = SEED; seed < SEED + 4; seed++) {
    const response = await fetch(`${host.url}/reset`, { method: "POST", body: JSON.stringify({ seed }) });
    const { observation } = (await response.json()) as { observation: { board: unknown } };
    const instance = lake.complete(observation.board);
    answers.push(lake.demonstrate(instance, "makespan", "chat"));
    if (seed > SEED) continue;
    const plan = optimalPlan(instance, "makespan");
    moves = Array.from({ length: instance.optimum.makespan }, (_, step) => plan.map((own) => own[step] ?? "WAIT"));
  }
});
afterAll(() => host.close());

interface Seen {
  observation: { code: string | null; prompt: string; optimal: boolean | null; positions: number[][] };
  reward: number | null;
  done: boolean;
}

test("the answer in docs/openenv.md is an optimal one to the board it names", async () => {
  const page = readFileSync(`${ROOT}docs/openenv.md`, "utf8");
  const [, seed, agents, message] = /reset\(seed=(\d+), agents=(\d+)\)[\s\S]*?"message": ("<answer>.*?<\/answer>")/.exec(page)!;
  const body = { action: { message: JSON.parse(message!) }, reset: { seed: Number(seed), agents: Number(agents) } };
  const response = await fetch(`${host.url}/step`, { method: "POST", body: JSON.stringify(body) });
  expect(await response.json()).toMatchObject({ reward: 1, observation: { reason: "every rule holds" } });
});

describe.skipIf(openenv.python === undefined)(`OpenEnv's own tools${because(openenv)}`, () => {
  test("openenv validate passes every criterion", async () => {
    const { code, output } = await ran(openenv.python!, ["-m", "openenv.cli", "validate", "--url", host.url]);
    expect(output).toContain("Verdict: PASS");
    expect(output).not.toContain("FAIL");
    expect(code).toBe(0);
  });

  test("GenericEnvClient plays a whole answer, garbage, and joint moves; two clients do not mix", async () => {
    const { output } = await ran(
      openenv.python!,
      ["python/check_openenv.py"],
      JSON.stringify({ url: host.url, seed: SEED, gold: answers[0], moves }),
    );
    const seen = JSON.parse(output) as Record<"reset" | "gold" | "garbage" | "moves_reset" | "own" | "other", Seen> & {
      moves: Seen[];
      state: object;
      after_the_end: string;
    };
    expect(seen.reset).toMatchObject({ reward: null, done: false, observation: { code: null } });
    expect(seen.gold).toMatchObject({ reward: 1, done: true, observation: { code: "valid", optimal: true } });
    expect(seen.state).toMatchObject({ step_count: 1, done: true, seed: SEED });
    expect(seen.garbage).toMatchObject({ reward: 0, done: true, observation: { code: "parse-error" } });
    expect(seen.after_the_end).toContain("EXECUTION_ERROR");
    expect(seen.moves_reset.observation.prompt).toContain("next joint move");
    expect(seen.moves.slice(0, -1).every(({ done, reward }) => !done && reward === null)).toBe(true);
    expect(seen.moves.at(-1)).toMatchObject({ reward: 1, done: true, observation: { code: "valid", optimal: true } });
    expect(seen.own).toMatchObject({ reward: 1 });
    expect(seen.other).toMatchObject({ reward: 0 });
  });
});

describe.skipIf(verifiers.python === undefined)(`verifiers${because(verifiers)}`, () => {
  test("loads the taskset by its id, scores right and wrong answers, and raises for a server that is not there", async () => {
    const wrong = answers.map((_, i) => answers[(i + 1) % answers.length]!.replaceAll(/\b(UP|DOWN|LEFT|RIGHT)\b/g, "WAIT"));
    const { output } = await ran(
      verifiers.python!,
      ["python/check_verifiers.py"],
      JSON.stringify({ url: host.url, seed: SEED, count: 4, answers: answers.map((gold, i) => [gold, wrong[i]!]) }),
    );
    const seen = JSON.parse(output) as {
      scored: { reward: number; prompt: string; metrics: Record<string, number> }[];
      action: unknown;
      unreachable: string;
      lost: string;
    };
    expect(seen.action).toEqual({ message: answers[0] });
    expect(seen.scored).toHaveLength(8);
    seen.scored.forEach(({ reward, metrics, prompt }, i) => {
      expect(prompt).toContain("frozen lake");
      expect({ reward, metrics }).toEqual({ reward: i % 2 === 0 ? 1 : 0, metrics: { valid: 1 - (i % 2), optimal: 1 - (i % 2) } });
    });
    expect(seen.unreachable).toBe("EnvwrightServerError");
    expect(seen.lost).toContain("TaskError");
  });
});

function ran(command: string, args: string[], input = ""): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, HF_HUB_OFFLINE: "1" };
    const child = spawn(command, args, { cwd: ROOT, env, stdio: ["pipe", "pipe", "pipe"] });
    let [output, errors] = ["", ""];
    child.stdout.on("data", (data) => {
      output += data;
    });
    child.stderr.on("data", (data) => {
      errors += data;
    });
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve({ code, output }) : reject(new Error(`${command} ended with ${code}\n${output}\n${errors}`)),
    );
    child.stdin.end(input);
  });
}
