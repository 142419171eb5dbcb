/**
 * One evaluation, sample by sample, so that it can be killed at any point and taken up: what was asked is in eval.json, the answers in
 * rollouts.jsonl (a line as soon as it is there, synced block by block), the result in report.json. A sample's seed is named by its place in
 * the set, so the result does not depend on interruptions. Taking up asks for what is missing or failed outside, and for nothing else.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  BoundaryError,
  type Completion,
  type CompletionFailure,
  CorruptFileError,
  canonicalJson,
  InputError,
  type InstanceBase,
  InterruptedError,
  type Policy,
  parseJsonWith,
  type Rendering,
  SCHEMA_VERSION,
  schemaVersion,
} from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { type SampleRecord, type SetReport, setReport } from "../evaluation/index.js";
import { JsonLinesWriter, writeFileAtomic } from "../store/index.js";
import { RunLock } from "../store/lock.js";
import { EvaluationLedger, type Slot, sampleSeed } from "./evaluation-ledger.js";
import { orderLog, readLog } from "./evaluation-log.js";

/** Samples given to the policy at once: it keeps as many under way as it likes, and memory holds no more prompts than these. */
const BLOCK = 256;
const REQUEST = "eval.json";
const ROLLOUTS = "rollouts.jsonl";
const REPORT = "report.json";

export const evaluationRequestSchema = z.strictObject({
  schema_version: schemaVersion,
  policy: z.string(),
  /** The policy's own name, where it is another than its specification: a policy file's model. */
  policy_name: z.string().optional(),
  /** What the policy brought with it, and the hash that --resume compares; absent in folders made before they were kept. */
  settings: z.record(z.string(), z.json()).optional(),
  settings_sha256: z.string().optional(),
  set: z.string(),
  set_sha256: z.string(),
  family: z.string(),
  objective: z.string(),
  /** The field mapping of an imported set, as it was given. */
  map: z.string().optional(),
  limit: z.int().positive().optional(),
  samples: z.int().positive(),
  /** As sent: a policy file's own values win over the command line's. */
  temperature: z.number(),
  top_p: z.number().optional(),
  max_tokens: z.int().positive(),
  seed: z.int().nonnegative(),
  /** How prompts and answers are written; absent in folders made before it was kept. */
  rendering: z.enum(["chat", "compact"]).optional(),
  /** US dollars for a million tokens. */
  prices: z.strictObject({ input: z.number().nonnegative(), output: z.number().nonnegative() }).optional(),
  /** Where it was gone on with at other addresses, in order: the last is where the same policy is asked now. */
  continued: z.array(z.strictObject({ policy: z.string(), base_url: z.string() })).optional(),
});
export type EvaluationRequest = z.infer<typeof evaluationRequestSchema>;
export type Continuation = NonNullable<EvaluationRequest["continued"]>[number];

export interface EvaluationRun {
  request: EvaluationRequest;
  family: AnyFamily;
  instances: readonly InstanceBase[];
  policy: Policy;
  /** The k of pass@k; see `setReport`. */
  passAt?: readonly number[];
  /** Keeps everything here; answers that are here already are not asked again. */
  out?: string;
  /** Added to eval.json before anything is asked there. */
  continuation?: Continuation;
  onContinued?: () => void;
  signal: AbortSignal;
  onProgress: (done: number, total: number) => void;
}

export interface EvaluationResult {
  report: SetReport;
  /** Stored verdicts that the present verifier does not share. */
  changed: { id: string; stored: string; present: string }[];
  /** The first of this time's outside failures. */
  failure?: CompletionFailure["failure"];
}

/** @throws {InterruptedError} when the signal is aborted; {BoundaryError} when nothing answers any more. What is done is kept. */
export async function runEvaluation(run: EvaluationRun): Promise<EvaluationResult> {
  const { request, family, instances, policy, out, signal } = run;
  const lock = out === undefined ? undefined : RunLock.acquire(out);
  try {
    const ledger = new EvaluationLedger(family, instances, request.samples, policy.rendering, request.prices);
    if (out !== undefined) await readInto(ledger, out);
    const open = ledger.open();
    if (out !== undefined && run.continuation !== undefined && open.length > 0) {
      await writeContinuation(out, request, run.continuation);
      run.onContinued?.();
    }
    let failure: CompletionFailure["failure"] | undefined;
    let done = ledger.total - open.length;
    for (let first = 0; first < open.length; first += BLOCK) {
      if (signal.aborted) throw interrupted(ledger);
      const block = open.slice(first, first + BLOCK);
      const failures = await askBlock(run, ledger, block, (within) => run.onProgress(done + within, ledger.total));
      if (signal.aborted) throw interrupted(ledger);
      failure ??= failures[0];
      done += block.length;
      const nobodyAnswers = failures.length === block.length && (first + BLOCK < open.length || ledger.answered === 0);
      if (nobodyAnswers) throw silent(failures[0]!, block.length, ledger);
    }
    if (out !== undefined) await orderLog(join(out, ROLLOUTS), ledger.total, (record, from) => ledger.slotOf(record, from));
    const report = reportOf(ledger, run);
    if (out !== undefined) await writeFileAtomic(join(out, REPORT), `${canonicalJson(report, 2)}\n`);
    return { report, changed: ledger.changed, ...(failure === undefined ? {} : { failure }) };
  } finally {
    lock?.release();
  }
}

/** Asks one block and keeps every result as soon as it is known; returns the outside failures. */
async function askBlock(
  { request, family, instances, policy, out, signal }: EvaluationRun,
  ledger: EvaluationLedger,
  block: readonly Slot[],
  onProgress: (done: number) => void,
): Promise<CompletionFailure["failure"][]> {
  // Opened for each block: what is written survives a kill at once, and closing syncs it against a loss of power.
  const log = out === undefined ? undefined : JsonLinesWriter.open(join(out, ROLLOUTS), "close");
  const failures: CompletionFailure["failure"][] = [];
  const kept = new Set<number>();
  const keep = (i: number, result: Completion | CompletionFailure): void => {
    if (kept.has(i)) return;
    const slot = block[i]!;
    // What an interruption cut short is no failure of the outside: it stays missing.
    if ("failure" in result && signal.aborted) return;
    kept.add(i);
    if ("failure" in result) failures.push(result.failure);
    const instance = instances[slot.instance]!;
    const record: SampleRecord = {
      id: `eval/${slot.instance}/${slot.sample}`,
      instance: instance.id,
      stratum: family.stratum(instance),
      stage: 0,
      step: 0,
      sample: slot.sample,
      ...("failure" in result
        ? { completion: "", tokens: 0, finish_reason: "stop" as const, failure: result.failure }
        : {
            completion: result.text,
            tokens: result.tokens,
            finish_reason: result.finishReason,
            verdict: family.verify(instance, result.text, result.finishReason, policy.rendering),
            ...measuredBy(result),
          }),
    };
    ledger.put(record, "the policy");
    log?.append(record);
    onProgress(kept.size);
  };
  try {
    const requests = block.map((slot) => ({
      prompt: family.prompt(instances[slot.instance]!, policy.rendering),
      ...sampleSeed(request.seed, slot),
      maxTokens: request.max_tokens,
      temperature: request.temperature,
    }));
    const results = await policy.complete(requests, { signal, onProgress: (n) => onProgress(Math.max(n, kept.size)), onResult: keep });
    for (const [i, result] of results.entries()) keep(i, result);
  } finally {
    log?.close();
  }
  return failures;
}

/** What the policy told beside the text. */
function measuredBy({ usage, latencyMs }: Completion): Partial<SampleRecord> {
  return {
    ...(usage?.promptTokens === undefined ? {} : { prompt_tokens: usage.promptTokens }),
    ...(usage?.reasoningTokens === undefined ? {} : { reasoning_tokens: usage.reasoningTokens }),
    ...(latencyMs === undefined ? {} : { latency: latencyMs / 1000 }),
  };
}

/** A report from a folder alone: nothing is asked, every stored answer is judged again. @throws {InputError} for an unfinished one. */
export async function rebuildReport(
  dir: string,
  request: EvaluationRequest,
  { family, instances, passAt }: Pick<EvaluationRun, "family" | "instances" | "passAt">,
): Promise<EvaluationResult> {
  const ledger = new EvaluationLedger(family, instances, request.samples, renderingOf(request), request.prices);
  await readInto(ledger, dir);
  if (ledger.missing > 0) {
    throw new InputError({
      message: `the evaluation in ${dir} is not finished: ${ledger.missing} of ${ledger.total} samples are missing`,
      value: dir,
      expected: "a record for every sample",
      remedy: `go on with it: envwright eval --resume ${dir}`,
    });
  }
  return { report: reportOf(ledger, { request, family, instances, ...(passAt === undefined ? {} : { passAt }) }), changed: ledger.changed };
}

/** What is still to be asked; of a new evaluation, everything. */
export async function openSlots(
  { request, family, instances, out }: Pick<EvaluationRun, "request" | "family" | "instances" | "out">,
  rendering: Rendering,
): Promise<Slot[]> {
  const ledger = new EvaluationLedger(family, instances, request.samples, rendering, request.prices);
  if (out !== undefined) await readInto(ledger, out);
  return ledger.open();
}

async function readInto(ledger: EvaluationLedger, dir: string): Promise<void> {
  for await (const { record, from } of readLog(join(dir, ROLLOUTS))) ledger.put(record, from);
}

function reportOf(
  ledger: EvaluationLedger,
  { request, family, instances, passAt }: Pick<EvaluationRun, "request" | "family" | "instances" | "passAt">,
): SetReport {
  const { policy: spec, policy_name: policy = spec, set, objective, samples } = request;
  return setReport({
    ...{ policy, set, instances, objective, samples, judged: ledger.judged },
    objectives: family.objectives,
    ...(passAt === undefined ? {} : { passAt }),
  });
}

/** The rendering that a stored evaluation was made in; embedded and oracle policies speak compact. */
export function renderingOf({ rendering, policy }: EvaluationRequest): Rendering {
  return rendering ?? (/^(embedded:|oracle$)/.test(policy) ? "compact" : "chat");
}

function interrupted(ledger: EvaluationLedger): InterruptedError {
  return new InterruptedError({ message: `interrupted after ${ledger.answered} of ${ledger.total} completions` });
}

function silent(failure: CompletionFailure["failure"], count: number, ledger: EvaluationLedger): BoundaryError {
  return new BoundaryError({
    boundary: failure.boundary,
    message: `stopped after ${ledger.answered} of ${ledger.total} completions: ${count} in a row failed, the first with: ${failure.message}`,
    remedy: "mend what failed, then go on with envwright eval --resume DIR (without --out, start again)",
  });
}

/** Makes the folder of a new evaluation. @throws {InputError} when it is in use. */
export async function createEvaluation(out: string, request: Omit<EvaluationRequest, "schema_version">): Promise<void> {
  if (existsSync(join(out, REQUEST))) {
    throw new InputError({
      message: `${out} already holds an evaluation`,
      value: out,
      expected: "a new folder",
      remedy: `go on with it: envwright eval --resume ${out}; or choose another --out`,
    });
  }
  await mkdir(out, { recursive: true });
  await writeFileAtomic(join(out, REQUEST), `${canonicalJson({ schema_version: SCHEMA_VERSION, ...request }, 2)}\n`);
}

async function writeContinuation(out: string, request: EvaluationRequest, continuation: Continuation): Promise<void> {
  const continued = [...(request.continued ?? []), continuation];
  await writeFileAtomic(join(out, REQUEST), `${canonicalJson({ ...request, continued }, 2)}\n`);
}

export async function openEvaluation(dir: string): Promise<EvaluationRequest> {
  const path = join(dir, REQUEST);
  if (!existsSync(path)) {
    throw new InputError({
      message: `${dir} has no ${REQUEST}`,
      value: dir,
      expected: "the folder of an evaluation, as made by `envwright eval --out`",
      remedy: "check the path",
    });
  }
  return parseJsonWith(evaluationRequestSchema, await readFile(path, "utf8"), path, CorruptFileError);
}
