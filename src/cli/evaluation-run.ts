/**
 * One evaluation, chunk by chunk, so that it can be interrupted and taken up: what was asked is in eval.json, the answers in
 * rollouts.jsonl, the result in report.json. A chunk is asked whole or not at all, and its seeds are named by chunk and sample, so the
 * result does not depend on interruptions.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  CorruptFileError,
  canonicalJson,
  InputError,
  type InstanceBase,
  InterruptedError,
  type Policy,
  parseJsonWith,
  type Rollout,
  rolloutSchema,
  SCHEMA_VERSION,
  Seed,
  schemaVersion,
} from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { type JudgedInstance, type SetReport, setReport, setReportSchema } from "../evaluation/index.js";
import { evaluatePolicy } from "../loop/index.js";
import { filterJsonLines, JsonLinesWriter, readJsonLines, writeFileAtomic } from "../store/index.js";

/** Instances asked at once. */
const CHUNK = 256;
const REQUEST = "eval.json";
const ROLLOUTS = "rollouts.jsonl";
const REPORT = "report.json";

export const evaluationRequestSchema = z.strictObject({
  schema_version: schemaVersion,
  policy: z.string(),
  set: z.string(),
  set_sha256: z.string(),
  family: z.string(),
  objective: z.string(),
  limit: z.int().positive().optional(),
  samples: z.int().positive(),
  temperature: z.number(),
  max_tokens: z.int().positive(),
  seed: z.int().nonnegative(),
});
export type EvaluationRequest = z.infer<typeof evaluationRequestSchema>;

export interface EvaluationRun {
  request: EvaluationRequest;
  family: AnyFamily;
  instances: readonly InstanceBase[];
  policy: Policy;
  /** Keeps everything here; answers that are here already are not asked again. */
  out?: string;
  signal: AbortSignal;
  onProgress: (done: number, total: number) => void;
}

export async function runEvaluation(run: EvaluationRun): Promise<SetReport> {
  const { request, family, instances, policy, out, signal } = run;
  const total = instances.length * request.samples;
  const rollouts = out === undefined ? [] : await keptRollouts(out, instances.length, request.samples);
  const log = out === undefined ? undefined : JsonLinesWriter.open(join(out, ROLLOUTS), "close");
  try {
    const seed = Seed.root("eval").child(request.seed);
    for (let first = rollouts.length / request.samples; first < instances.length; first += CHUNK) {
      const chunk = instances.slice(first, first + CHUNK);
      const answers: Rollout[][] = [];
      for (let sample = 0; sample < request.samples; sample++) {
        if (signal.aborted) throw new InterruptedError({ message: `interrupted after ${rollouts.length} of ${total} completions` });
        const items = await evaluatePolicy({
          policy,
          family,
          instances: chunk,
          seed: seed.child("chunk", first, "sample", sample),
          temperature: request.temperature,
          maxTokens: request.max_tokens,
          signal,
          onProgress: (done) => run.onProgress(rollouts.length + sample * chunk.length + done, total),
        });
        answers.push(
          items.map(({ instance, completion, tokens, finishReason, verdict, failure }, i) => ({
            id: `eval/${first + i}/${sample}`,
            instance: instance.id,
            stratum: family.stratum(instance),
            stage: 0,
            step: 0,
            sample,
            completion,
            tokens,
            finish_reason: finishReason,
            ...(verdict === undefined ? {} : { verdict }),
            ...(failure === undefined ? {} : { failure }),
          })),
        );
      }
      const ordered = chunk.flatMap((_, i) => answers.map((sample) => sample[i]!));
      for (const rollout of ordered) log?.append(rollout);
      rollouts.push(...ordered);
    }
  } finally {
    log?.close();
  }
  const judged = instances.map((instance, i): JudgedInstance => {
    const samples = rollouts.slice(i * request.samples, (i + 1) * request.samples);
    return {
      stratum: family.stratum(instance),
      tags: family.tags(instance),
      samples: samples.map(({ verdict, tokens }) => ({ verdict, tokens })),
    };
  });
  const { policy: name, set, objective, samples } = request;
  const report = setReport({ policy: name, set, instances, objective, samples, judged });
  if (out !== undefined) await writeFileAtomic(join(out, REPORT), `${canonicalJson(report, 2)}\n`);
  return report;
}

/** Answers of whole chunks; what an interruption left of a chunk goes. */
async function keptRollouts(out: string, instances: number, samples: number): Promise<Rollout[]> {
  const path = join(out, ROLLOUTS);
  const all = await readJsonLines(path, rolloutSchema);
  const done = Math.floor(all.length / samples);
  const whole = done >= instances ? instances : Math.floor(done / CHUNK) * CHUNK;
  let line = 0;
  await filterJsonLines(path, rolloutSchema, () => line++ < whole * samples);
  return all.slice(0, whole * samples);
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

export function openEvaluation(dir: string): Promise<EvaluationRequest> {
  return readRecord(dir, REQUEST, evaluationRequestSchema, "the folder of an evaluation, as made by `envwright eval --out`");
}

export function readSetReport(dir: string): Promise<SetReport> {
  return readRecord(dir, REPORT, setReportSchema, "the folder of a finished evaluation");
}

async function readRecord<T>(dir: string, name: string, schema: z.ZodType<T>, expected: string): Promise<T> {
  const path = join(dir, name);
  if (!existsSync(path)) throw new InputError({ message: `${dir} has no ${name}`, value: dir, expected, remedy: "check the path" });
  return parseJsonWith(schema, await readFile(path, "utf8"), path, CorruptFileError);
}
