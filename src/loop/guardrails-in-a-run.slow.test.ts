/** The guardrails in whole runs: what they did stands in the records, and a run that was stopped where they act goes on to the same bytes. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { folderBytes } from "../../test/folder-bytes.js";
import {
  EventStream,
  InfeasibleError,
  type InstanceBase,
  InterruptedError,
  parseWith,
  proposalSchema,
  type Recipe,
  type RunEvent,
  recipeSchema,
  stageConfigSchema,
  validationReportSchema,
} from "../core/index.js";
import { totalVariation } from "../engineers/index.js";
import { readCheckpoint, writeCheckpoint } from "../nn/index.js";
import { RunFolder } from "../store/index.js";
import { readTrainerState, type Trainer, type TrainStageRequest, writeTrainerState } from "../trainers/index.js";
import { closedLoop } from "./closed-loop.js";
import { openWorkbench, type Workbench } from "./workbench.js";

const SHIPPED_BASE = join(import.meta.dirname, "../../assets/base-tiny");
let scratch: string;
/** A base that solves nothing: the shipped one with every parameter zero. */
let base: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "envwright-guardrails-"));
  base = join(scratch, "base");
  const shipped = await readCheckpoint(SHIPPED_BASE);
  await writeCheckpoint(base, { ...shipped, parameters: new Float32Array(shipped.parameters.length) });
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function recipe(engineer: Record<string, unknown>, stages = 3): Recipe {
  const size = (data_ratio: number) => ({ data_ratio, hole_ratio: 0.1, wait_ratio: 0.3 });
  const value = {
    name: "guarded",
    seed: 5,
    stages,
    instances: 12,
    initial: "given",
    config: { agents: [2], sizes: { 3: size(0.5), 4: size(0.3), 5: size(0.2) } },
    base,
    validation: { count: 30, max_tokens: 40 },
    trainer: { kind: "embedded", grpo: { steps: 1, prompts: 4, group: 4, max_tokens: 40, replay_batch: 2 } },
    engineer,
    workers: 1,
  };
  return parseWith(recipeSchema, value, "test");
}

/**
 * Trains as the recipe says, and then puts at the stages named the parameters named in place of what was learned: `good` are those of the
 * shipped base, `bad` are zeros. So validation rises and falls where the test wants it.
 */
function scripted(trainer: Trainer, script: Record<number, "good" | "bad">, started: Map<number, string>): Trainer {
  return {
    kind: trainer.kind,
    stepsPerStage: trainer.stepsPerStage,
    close: () => trainer.close(),
    async trainStage(request: TrainStageRequest) {
      started.set(request.stage, request.from);
      await trainer.trainStage(request);
      const outcome = script[request.stage];
      if (outcome === undefined) return;
      const [made, state] = [await readCheckpoint(request.to), await readTrainerState(request.to)];
      rmSync(request.to, { recursive: true });
      const parameters = outcome === "good" ? (await readCheckpoint(SHIPPED_BASE)).parameters : new Float32Array(made.parameters.length);
      await writeCheckpoint(request.to, { ...made, parameters }, (folder) => writeTrainerState(folder, state!));
    },
  };
}

interface Watched {
  folder: RunFolder;
  events: RunEvent[];
  /** Stage → the checkpoint that its training started from. */
  started: Map<number, string>;
}

/** Runs or goes on with the run in `name`, until its end or until the first event that `stopAt` is true of. */
async function run(
  name: string,
  what: Recipe | undefined,
  script: Record<number, "good" | "bad">,
  { stopAt, change = (bench) => bench }: { stopAt?: (event: RunEvent) => boolean; change?: (bench: Workbench) => Workbench } = {},
): Promise<Watched> {
  const dir = join(scratch, name);
  const folder = what === undefined ? await RunFolder.resume(dir) : await RunFolder.create(dir, { recipe: what });
  const stream = new EventStream(() => new Date());
  const controller = new AbortController();
  const events: RunEvent[] = [];
  stream.subscribe((event) => {
    events.push(event);
    if (stopAt?.(event)) controller.abort();
  });
  const started = new Map<number, string>();
  try {
    const bench = await openWorkbench({ folder, events: stream, signal: controller.signal });
    try {
      await closedLoop(change({ ...bench, trainer: scripted(bench.trainer, script, started) }));
    } finally {
      await bench.close();
    }
  } finally {
    folder.close();
  }
  return { folder: await RunFolder.open(dir), events, started };
}

const configOf = (folder: RunFolder, stage: number) => folder.readRecord(stage, "config.json", stageConfigSchema);
const validOf = async (folder: RunFolder, stage: number) =>
  (await folder.readRecord(stage, "validation.json", validationReportSchema)).total.valid.rate;
const isReturn = (event: RunEvent) => event.type === "warning" && event.message.startsWith("returning to checkpoint");
const rising = { 0: "good", 1: "bad" } as const;
const rollback = { name: "random", guardrails: { rollback: true } };

it("with rollback, a stage after a fall starts from the best checkpoint under its config, and the records say so", async () => {
  const { folder, events, started } = await run("rollback", recipe(rollback), rising);
  expect(await validOf(folder, 0)).toBeGreaterThan(0.2);
  expect(await validOf(folder, 1)).toBe(0);
  expect(started.get(1)).toBe(folder.path(0, "checkpoint"));
  expect(started.get(2)).toBe(folder.path(0, "checkpoint"));
  const [first, second, third] = [await configOf(folder, 0), await configOf(folder, 1), await configOf(folder, 2)];
  expect(second).toMatchObject({ from_checkpoint: 1, provenance: { source: "proposal" } });
  expect(second.normalised).not.toEqual(first.normalised);
  expect(third).toMatchObject({ from_checkpoint: 1, provenance: { source: "rollback", engineer: "random", from_stage: 1 } });
  expect(third.normalised).toEqual(first.normalised);
  // One step from what solves something is not one step from what solves nothing.
  expect(await validOf(folder, 2)).toBeGreaterThan(0.2);
  expect(events.filter(isReturn)).toEqual([
    expect.objectContaining({ stage: 2, message: expect.stringMatching(/^returning to checkpoint 1: valid rate fell by 0\.\d+ ± 0\.\d+/) }),
  ]);
});

it("without it, the stage goes on from what fell, under the proposal", async () => {
  const { folder, events, started } = await run("no-rollback", recipe({ name: "random" }), rising);
  expect(started.get(2)).toBe(folder.path(1, "checkpoint"));
  expect(await configOf(folder, 2)).toMatchObject({ from_checkpoint: 2, provenance: { source: "proposal" } });
  expect(await validOf(folder, 2)).toBe(0);
  expect(events.filter(isReturn)).toEqual([]);
});

it("stopped right after a return, in the training that follows, or before it, a run goes on to the bytes of one that was not", async () => {
  const whole = folderBytes(join(scratch, "rollback"));
  const points: [string, (event: RunEvent) => boolean][] = [
    ["return", isReturn],
    ["generate", (e) => e.type === "phase-finished" && e.stage === 2 && e.phase === "generate"],
    ["train", (e) => e.type === "step" && e.stage === 2],
    ["propose", (e) => e.type === "phase-started" && e.stage === 1 && e.phase === "propose"],
  ];
  for (const [point, stopAt] of points) {
    const name = `stopped-${point}`;
    await run(name, recipe(rollback), rising, { stopAt }).catch((error) => expect(error).toBeInstanceOf(InterruptedError));
    const { started } = await run(name, undefined, rising);
    // What was done is not done again, and what was not starts from the kept checkpoint.
    expect(started.has(0), point).toBe(false);
    if (started.has(2)) expect(started.get(2), point).toBe(join(scratch, name, "stages/00/checkpoint"));
    expect(folderBytes(join(scratch, name)), point).toEqual(whole);
  }
});

it("a fall below the base returns to the base, which was trained under no config of the run: the proposal stands", async () => {
  const dir = join(scratch, "shipped");
  cpSync(SHIPPED_BASE, dir, { recursive: true });
  const { folder, started } = await run("to-base", { ...recipe(rollback, 2), base: dir }, { 0: "bad" });
  expect(started.get(1)).toBe(dir);
  const [second, proposal] = [await configOf(folder, 1), await folder.readRecord(0, "proposal.json", proposalSchema)];
  expect(second).toMatchObject({ from_checkpoint: 0, provenance: { source: "rollback" } });
  expect(second.normalised).toEqual(proposal.config);
});

it("limits on shares hold for every stage of a run whose engineer would go further, and stand in each proposal", async () => {
  const shares = async (folder: RunFolder, stage: number) => {
    const { sizes } = (await configOf(folder, stage)).normalised as { sizes: Record<string, { data_ratio: number }> };
    return Object.values(sizes).map((row) => row.data_ratio);
  };
  const acted = async (folder: RunFolder, stage: number) =>
    (await folder.readRecord(stage, "proposal.json", proposalSchema)).guardrails.map((g) => g.guardrail);

  const limited = (await run("max-change", recipe({ name: "hardest", guardrails: { max_change: 0.1 } }), {})).folder;
  for (const stage of [0, 1]) {
    expect(totalVariation(await shares(limited, stage), await shares(limited, stage + 1))).toBeCloseTo(0.1, 9);
    expect(await acted(limited, stage)).toEqual(["max_change"]);
  }
  // Every size counts as mastered.
  const kept = (await run("least-share", recipe({ name: "hardest", guardrails: { mastered: 0, min_mastered_share: 0.15 } }), {})).folder;
  const [easy, middle, hard] = (await shares(kept, 1)) as [number, number, number];
  expect([easy, middle, hard].map((share) => share.toFixed(6)).sort()).toEqual(["0.150000", "0.150000", "0.700000"]);
  expect(await acted(kept, 0)).toEqual(["min_mastered_share"]);
});

it("a config that turns out empty when it is drawn leaves the previous one in place, after a return as well", async () => {
  const drawn: number[] = [];
  const change = (bench: Workbench): Workbench => {
    const generate: typeof bench.family.generate = async (config, options) => {
      drawn.push(drawn.length);
      // The second stage's first draw: the proposal.
      if (drawn.length === 2) throw new InfeasibleError({ message: "no such board", expected: "a config with boards", remedy: "none" });
      return bench.family.generate(config, options);
    };
    return { ...bench, family: { ...bench.family, generate } as Workbench<InstanceBase>["family"] };
  };
  const dir = join(scratch, "shipped-too");
  cpSync(SHIPPED_BASE, dir, { recursive: true });
  const { folder, events } = await run("empty", { ...recipe(rollback, 2), base: dir }, { 0: "bad" }, { change });
  const second = await configOf(folder, 1);
  expect(second).toMatchObject({ from_checkpoint: 0, provenance: { source: "previous" } });
  expect(second.normalised).toEqual((await configOf(folder, 0)).normalised);
  expect(events).toContainEqual(
    expect.objectContaining({ type: "warning", message: expect.stringMatching(/cannot be generated.*no such board/) }),
  );
});
