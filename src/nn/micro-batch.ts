/**
 * Sequences → micro-batches: sorted by length, cut into runs of similar length, padded to a multiple of 16. The cut depends on the
 * request alone, never on the number of workers, so that sums over micro-batches are the same bits on any machine.
 */
import { InputError } from "../core/index.js";

export interface TrainingSequence {
  /** Prompt and completion. */
  tokens: Int32Array;
  /** At least 1: the first completion token is predicted from the last prompt token. */
  promptLength: number;
  /** Weight of each completion token in the loss; all normalisation lies here. */
  weights: Float32Array;
  /** Per completion token; the policy loss needs the first two, and the third when its KL coefficient is not 0. */
  advantages?: Float32Array;
  oldLogProbs?: Float32Array;
  referenceLogProbs?: Float32Array;
}

export type LossSpec =
  | { kind: "nll" }
  | { kind: "policy"; clipLow: number; clipHigh: number; klCoefficient: number; inverseTemperature: number };

/** One run of a graph, ready to be handed to a worker. B sequences padded to `length`, M completion tokens. */
export interface MicroBatch {
  readonly length: number;
  /** Places of its sequences in the request, in the order of its rows. */
  readonly members: readonly number[];
  /** [B·length], padded with token 0. */
  readonly tokens: Int32Array;
  /** Flat position that predicts each completion token, [M]. */
  readonly rows: Int32Array;
  readonly targets: Int32Array;
  readonly inverseTemperature: number;
  readonly loss: LossSpec["kind"] | "log-probs";
  /** Further graph inputs by name: vectors [M] and scalars. */
  readonly vectors: Readonly<Record<string, Float32Array>>;
  readonly scalars: Readonly<Record<string, number>>;
}

const LENGTH_STEP = 16;
const TOKENS = 1024;
const MOST_SEQUENCES = 64;

/** Sequences in a full micro-batch of padded length `length`: the power of two that gives at most 1024 tokens. */
export function sequencesPerMicroBatch(length: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, Math.min(MOST_SEQUENCES, TOKENS / length))));
}

export function paddedLength(length: number): number {
  return Math.ceil(length / LENGTH_STEP) * LENGTH_STEP;
}

/** Groups of places in `lengths`, longest first; equal lengths keep their order. */
export function planMicroBatches(lengths: readonly number[]): { length: number; members: number[] }[] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const plan: { length: number; members: number[] }[] = [];
  for (let at = 0; at < order.length; ) {
    const length = paddedLength(lengths[order[at]!]!);
    const members = order.slice(at, at + sequencesPerMicroBatch(length));
    plan.push({ length, members });
    at += members.length;
  }
  return plan;
}

/** @throws {InputError} a sequence that cannot be trained on, with its place. */
export function microBatches(
  sequences: readonly TrainingSequence[],
  loss: LossSpec | { kind: "log-probs"; inverseTemperature: number },
  limits: { vocabulary: number; positions: number },
): MicroBatch[] {
  sequences.forEach((sequence, i) => {
    check(sequence, i, loss, limits);
  });
  return planMicroBatches(sequences.map((s) => s.tokens.length)).map(({ length, members }) => {
    const count = members.reduce((total, i) => total + sequences[i]!.tokens.length - sequences[i]!.promptLength, 0);
    const tokens = new Int32Array(members.length * length);
    const rows = new Int32Array(count);
    const targets = new Int32Array(count);
    const vectors: Record<string, Float32Array> = {};
    for (const name of vectorNames(loss.kind)) vectors[name] = new Float32Array(count);
    let at = 0;
    members.forEach((member, b) => {
      const sequence = sequences[member]!;
      tokens.set(sequence.tokens, b * length);
      for (const name of Object.keys(vectors)) vectors[name]!.set(vectorOf(sequence, name), at);
      for (let t = sequence.promptLength; t < sequence.tokens.length; t++, at++) {
        rows[at] = b * length + t - 1;
        targets[at] = sequence.tokens[t]!;
      }
    });
    const scalars: Record<string, number> =
      loss.kind === "policy" ? { clipLow: loss.clipLow, clipHigh: loss.clipHigh, klCoefficient: loss.klCoefficient } : {};
    const inverseTemperature = loss.kind === "nll" ? 1 : loss.inverseTemperature;
    return { length, members, tokens, rows, targets, inverseTemperature, loss: loss.kind, vectors, scalars };
  });
}

function vectorNames(kind: LossSpec["kind"] | "log-probs"): string[] {
  if (kind === "log-probs") return [];
  return kind === "nll" ? ["weights"] : ["weights", "advantages", "oldLogProbs", "referenceLogProbs"];
}

function vectorOf(sequence: TrainingSequence, name: string): Float32Array {
  // Without a reference the KL coefficient is 0 and the old log-probabilities are as good as any: finite, and multiplied by 0.
  if (name === "referenceLogProbs") return sequence.referenceLogProbs ?? sequence.oldLogProbs!;
  return sequence[name as "weights" | "advantages" | "oldLogProbs"]!;
}

function check(
  sequence: TrainingSequence,
  index: number,
  loss: LossSpec | { kind: "log-probs"; inverseTemperature: number },
  limits: { vocabulary: number; positions: number },
): void {
  const refuse = (message: string, value: unknown, expected: string): never => {
    throw new InputError({ message: `training sequence ${index}: ${message}`, value, expected });
  };
  const { tokens, promptLength } = sequence;
  if (tokens.length > limits.positions)
    refuse(`${tokens.length} tokens`, tokens.length, `at most ${limits.positions} (max_position_embeddings)`);
  if (!(promptLength >= 1 && promptLength <= tokens.length)) refuse(`promptLength ${promptLength}`, promptLength, `1 to ${tokens.length}`);
  for (const token of tokens)
    if (!(token >= 0 && token < limits.vocabulary)) refuse(`token ${token}`, token, `0 to ${limits.vocabulary - 1}`);
  const count = tokens.length - promptLength;
  for (const name of vectorNames(loss.kind)) {
    if (
      name === "referenceLogProbs" &&
      sequence.referenceLogProbs === undefined &&
      loss.kind === "policy" &&
      loss.klCoefficient === 0 &&
      sequence.oldLogProbs
    )
      continue;
    const vector = sequence[name as keyof TrainingSequence] as Float32Array | undefined;
    if (vector?.length !== count)
      refuse(`${name} has ${vector?.length ?? "no"} values`, vector?.length, `one per completion token: ${count}`);
  }
}
