import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { callCli } from "../../test/call-cli.js";

const dir = mkdtempSync(join(tmpdir(), "verl-plan-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
/** A Python that says it lacks what is given, and nothing else. */
const python = (missing: string): string => {
  const path = join(dir, `python-without-${missing.replaceAll(" ", "-") || "nothing"}`);
  writeFileSync(path, `#!/bin/sh\necho ${missing}\n`, { mode: 0o755 });
  return `trainer.python=${path}`;
};

const plan = async (recipe: string, ...sets: string[]) => {
  const { code, stdout } = await callCli([
    ...["run", recipe, "--dry-run", "--out", "runs/p", "--json"],
    ...sets.flatMap((set) => ["--set", set]),
  ]);
  expect(code).toBe(0);
  return JSON.parse(stdout) as { serving?: { command: string; during_training: string }; traps: string[] };
};

test.each(["paper-verl", "paper-verl-2-nodes"])(
  "%s is shown with the command that serves each checkpoint, and springs no trap",
  async (recipe) => {
    const { serving, traps } = await plan(recipe, python(""));
    expect(traps).toEqual([]);
    expect(serving).toEqual({
      command: `vllm serve ${resolve("runs/p/stages/00/checkpoint")} --host 127.0.0.1 --port PORT --served-model-name policy --tensor-parallel-size 1 --data-parallel-size 8 --gpu-memory-utilization 0.9 --max-model-len 16384 --generation-config vllm`,
      during_training: "stopped",
    });
    const { stdout } = await callCli(["run", recipe, "--dry-run"]);
    expect(stdout).toMatch(/stopped while verl trains:\n\nvllm serve .*\n +--host 127.0.0.1 \\\n/);
  },
  60_000,
);

test("the traps of serving stand beside those of verl", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await new Promise((done) => other.once("listening", done));
  const { port } = other.address() as AddressInfo;
  const { serving, traps } = await plan(
    "paper-verl",
    ...["serving.kind=sglang", 'serving.command=["python3","-m","sglang.launch_server"]', "serving.weights=update"],
    ...["serving.max_model_len=12000", `serving.port=${port}`, "trainer.micro_batch=7", python("")],
  );
  expect(serving).toMatchObject({ during_training: "up", command: expect.stringContaining(`--port ${port} `) });
  expect(traps).toEqual([
    expect.stringMatching(/no multiple of GPUs × micro_batch/),
    expect.stringMatching(/serving.max_model_len \(12000\) is less than the engineer's context/),
    expect.stringMatching(/nothing says that their GPUs are apart/),
    expect.stringMatching(new RegExp(`^serving.port: 127.0.0.1:${port} cannot be listened on`)),
  ]);
  // A run is refused for them, before anything is written.
  const { code, stderr } = await callCli(["run", "paper-verl", "--out", "runs/p", "--set", "serving.max_model_len=12000"]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/serving.max_model_len \(12000\)/)]);
}, 60_000);

test("a Python without verl is told, with what to install; a run is refused for it before anything is written, and a cluster's is not asked", async () => {
  const { traps } = await plan("paper-verl", python("verl envwright"));
  expect(traps).toEqual([
    expect.stringMatching(
      /python-without-verl-envwright has no verl and no envwright .*pip install verl==0.9.1 .*python, or name a Python/,
    ),
  ]);
  expect((await plan("paper-verl-2-nodes", python("verl envwright"))).traps).toEqual([]);
  const out = join(dir, "run");
  const base = ["--set", `base=${resolve("assets/base-tiny")}`, "--out", out];
  const { code, stderr } = await callCli(["run", "paper-verl", "--set", python("verl"), ...base]);
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /has no verl \(trainer.python names another\)\n.*expected: +a Python with verl .*\n.*remedy: +.* -m pip install verl/,
  );
  expect(existsSync(out)).toBe(false);
}, 60_000);
