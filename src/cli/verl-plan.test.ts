import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { callCli } from "../../test/call-cli.js";

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
    const { serving, traps } = await plan(recipe);
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
    ...["serving.max_model_len=12000", `serving.port=${port}`, "trainer.micro_batch=7"],
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
