/**
 * Training by an engine outside of this process, a stage at a time: open the reward service, let the engine's adapter write what the engine
 * reads, run it, follow its metrics, take its Hugging Face folder. A failed attempt is begun again from the stage's first checkpoint within
 * the budget; nothing of it is kept but its log. What differs between engines is in their adapters.
 */
import { existsSync } from "node:fs";
import { appendFile, cp, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { BoundaryError, type InstanceBase, InterruptedError, type Metrics } from "../../core/index.js";
import type { Trainer, TrainStageRequest } from "../trainer.js";
import { readEngineState, writeEngineState } from "./engine-state.js";
import { LineFollower } from "./follow-lines.js";
import type { OpenRewardEndpoint, RewardEndpoint } from "./reward-endpoint.js";
import type { EngineCommand, EngineEnd, RunEngine } from "./run-process.js";
import { StageRollouts } from "./stage-rollouts.js";

export interface EngineJob {
  command: EngineCommand;
  /** JSON lines that the engine writes. */
  metrics: string;
  /** Where the Hugging Face folder will lie. */
  checkpoint: string;
  /** What is deleted once the checkpoint has been taken. */
  discard: string;
}

export interface EngineAdapter<I extends InstanceBase> {
  readonly kind: string;
  readonly stepsPerStage: number;
  /** Completions that are judged in one step. */
  readonly stepSize: number;
  readonly retries: number;
  readonly rewardHost: string;
  /** Folder for what the engine reads and writes, where it cannot be the stage's own. */
  readonly workRoot?: string | undefined;
  /** Writes what the engine reads into `work`. */
  prepare(request: TrainStageRequest<I>, work: string, reward: Pick<RewardEndpoint, "url" | "token">): Promise<EngineJob>;
  /** A line of the metrics file: the step, from 0, and its numbers; undefined for lines that are no step. @throws for lines that cannot be read. */
  readMetrics(line: string): { step: number; values: Record<string, number> } | undefined;
}

const LOOK_EVERY = 200;
const LOG = "log.txt";

export class EngineTrainer<I extends InstanceBase> implements Trainer<I> {
  constructor(
    private readonly adapter: EngineAdapter<I>,
    private readonly openRewards: OpenRewardEndpoint,
    private readonly run: RunEngine,
  ) {}

  get kind(): string {
    return this.adapter.kind;
  }

  get stepsPerStage(): number {
    return this.adapter.stepsPerStage;
  }

  async trainStage(request: TrainStageRequest<I>): Promise<void> {
    const { kind, retries } = this.adapter;
    const state = (await readEngineState(request.from)) ?? { globalStep: 0, emaValid: request.scorer.state().ema_valid };
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(request, state);
      } catch (error) {
        if (!(error instanceof BoundaryError) || error.boundary !== kind || attempt > retries) throw error;
        const reason = `${kind} failed, attempt ${attempt} of ${retries + 1}: ${error.message}`;
        request.onLog?.(reason);
        await request.onRestart?.(reason);
      }
    }
  }

  /** Every stage has its own processes and its own service; nothing outlives it. */
  async close(): Promise<void> {}

  private async attempt(request: TrainStageRequest<I>, from: { globalStep: number; emaValid: number }): Promise<void> {
    const { adapter } = this;
    const { stage, to } = request;
    refuseIfAborted(request, stage);
    const beside = `${basename(to)}.${adapter.kind}`;
    const work =
      adapter.workRoot === undefined ? join(dirname(to), beside) : join(adapter.workRoot, ...dirname(to).split(sep).slice(1), beside);
    await clear(work);
    const rollouts = new StageRollouts(stage, adapter.stepSize, request.instances, request.stratum);
    const reward = await this.openRewards({
      host: adapter.rewardHost,
      emaValid: from.emaValid,
      stepSize: adapter.stepSize,
      onJudged: (completions) => rollouts.add(completions),
    });
    let emaValid: number;
    try {
      const job = await adapter.prepare(request, work, reward);
      const end = await this.follow(request, job, rollouts, from.globalStep);
      refuseIfAborted(request, stage);
      if (!end.ok) throw this.failure(`ended with ${end.status} in stage ${stage}`, end.tail);
      assertCheckpoint(job.checkpoint, (problem) => this.failure(problem, end.tail));
      emaValid = reward.emaValid();
      const partial = `${to}.partial`;
      await rm(partial, { recursive: true, force: true });
      await cp(job.checkpoint, partial, { recursive: true, filter: (path) => basename(path) !== "training_args.bin" });
      await writeEngineState(partial, { globalStep: from.globalStep + adapter.stepsPerStage, emaValid });
      await rm(to, { recursive: true, force: true });
      await rename(partial, to);
      await rm(job.discard, { recursive: true, force: true });
    } finally {
      await reward.close();
    }
    request.scorer.load({ ema_valid: emaValid });
    for (const groups of rollouts.steps()) await request.onRollouts?.(groups);
  }

  /** Runs the engine and tells of each step as soon as its metrics are there. */
  private async follow(request: TrainStageRequest<I>, job: EngineJob, rollouts: StageRollouts<I>, globalStep: number): Promise<EngineEnd> {
    const lines = new LineFollower(job.metrics);
    const log = join(dirname(job.metrics), LOG);
    let told = performance.now();
    const tell = async () => {
      for (const line of await lines.next()) {
        let read: ReturnType<EngineAdapter<I>["readMetrics"]>;
        try {
          read = this.adapter.readMetrics(line);
        } catch (error) {
          // Training goes on, or has ended well: a line lost is no reason to lose the stage.
          request.onLog?.(`a line of ${job.metrics} cannot be read (${(error as Error).message}): ${line.slice(0, 200)}`);
        }
        if (read === undefined) continue;
        const seconds = (performance.now() - told) / 1000;
        told = performance.now();
        const metrics = { ...read.values, ...rollouts.metrics(read.step), stage: request.stage, step: globalStep + read.step };
        request.onStep?.(metrics as Metrics, seconds);
      }
    };
    let written = Promise.resolve();
    let looking = Promise.resolve();
    let trouble: unknown;
    const troubled = (error: unknown) => {
      trouble ??= error;
    };
    const timer = setInterval(() => {
      looking = looking.then(tell).catch(troubled);
    }, LOOK_EVERY);
    try {
      const end = await this.run(job.command, {
        signal: request.signal,
        onLine: (line) => {
          written = written.then(() => appendFile(log, `${line}\n`)).catch(troubled);
          request.onLog?.(line);
        },
      });
      // No look may begin beside the last one: two at once would read the same lines.
      clearInterval(timer);
      await looking;
      await tell();
      await written;
      if (trouble !== undefined) throw trouble;
      return end;
    } finally {
      clearInterval(timer);
    }
  }

  private failure(problem: string, tail: readonly string[]): BoundaryError {
    const { kind } = this.adapter;
    return new BoundaryError({
      boundary: kind,
      message: `${kind} ${problem}`,
      value: tail.join("\n"),
      remedy: `the end of its log:\n${tail.slice(-12).join("\n")}`,
    });
  }
}

function refuseIfAborted({ signal }: { signal?: AbortSignal }, stage: number): void {
  if (signal?.aborted) throw new InterruptedError({ message: `interrupted in stage ${stage}` });
}

function assertCheckpoint(folder: string, failure: (problem: string) => BoundaryError): void {
  for (const name of ["config.json", "tokenizer.json"]) {
    if (!existsSync(join(folder, name))) throw failure(`left no ${name} in ${folder}`);
  }
  const weights = ["model.safetensors", "model.safetensors.index.json"];
  if (!weights.some((name) => existsSync(join(folder, name)))) throw failure(`left no safetensors weights in ${folder}`);
}

/** An empty folder but for the log of earlier attempts, which goes on. */
async function clear(work: string): Promise<void> {
  const [log, kept] = [join(work, LOG), `${work}.log`];
  if (existsSync(log)) await rename(log, kept);
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  if (existsSync(kept)) await rename(kept, log);
}
