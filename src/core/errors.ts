/**
 * The typed errors. Two families only, after the rule that failures are of three kinds: a model's wrong answer is a verdict (data,
 * never an exception); a user's or programmer's mistake is an `InputError` (exit code 2, before any work); a failure of the outside
 * is a `BoundaryError` (exit code 1, attributed to its boundary, retried where that makes sense, never scored as a zero).
 */

export interface ErrorDetail {
  /** What was wrong with which value, in one sentence. */
  message: string;
  /** The offending value, as given. */
  value?: unknown;
  /** What would have been accepted. */
  expected?: string;
  /** What the user can do about it. */
  remedy?: string;
  cause?: unknown;
}

export abstract class EnvwrightError extends Error {
  abstract readonly exitCode: number;
  readonly value: unknown;
  readonly expected: string | undefined;
  readonly remedy: string | undefined;

  constructor(detail: ErrorDetail) {
    super(detail.message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = new.target.name;
    this.value = detail.value;
    this.expected = detail.expected;
    this.remedy = detail.remedy;
  }

  /** The whole error as a person reads it: message, expectation, remedy. */
  explain(): string {
    const lines = [this.message];
    if (this.expected !== undefined) lines.push(`  expected: ${this.expected}`);
    if (this.remedy !== undefined) lines.push(`  remedy:   ${this.remedy}`);
    return lines.join("\n");
  }
}

/** A mistake in what the user or the calling program gave: refused before work starts. */
export class InputError extends EnvwrightError {
  readonly exitCode = 2;
}

/** A config, recipe or option that does not satisfy its schema. */
export class ConfigError extends InputError {}

/** A config that is well-formed but cannot be generated (free cells, unreachable wait ratio). */
export class InfeasibleError extends InputError {}

/** A file whose bytes are not what its kind or checksum says. */
export class CorruptFileError extends InputError {}

/** A run folder that cannot be used: other schema version, locked by a live process, already holds another run. */
export class RunFolderError extends InputError {}

/** A failure outside our code: disk, endpoint, native runtime, child process. */
export class BoundaryError extends EnvwrightError {
  readonly exitCode = 1;
  readonly boundary: string;
  constructor(detail: ErrorDetail & { boundary: string }) {
    super(detail);
    this.boundary = detail.boundary;
  }
}

/** Reading or writing the run folder failed (full disk, permissions). */
export class StorageError extends BoundaryError {
  constructor(detail: ErrorDetail) {
    super({ ...detail, boundary: "storage" });
  }
}

/** The native runtime refused a graph or died. */
export class EngineError extends BoundaryError {
  constructor(detail: ErrorDetail) {
    super({ ...detail, boundary: "engine" });
  }
}

/** Training produced NaN or diverged; the last good checkpoint is kept. */
export class DivergenceError extends BoundaryError {
  constructor(detail: ErrorDetail) {
    super({ ...detail, boundary: "training" });
  }
}

/** The server of the run's own checkpoints failed for good: no answer of it is made up, the run stops where it can be resumed. */
export class ServingError extends BoundaryError {
  constructor(detail: ErrorDetail) {
    super({ ...detail, boundary: "serving" });
  }
}

/** The run was interrupted (Ctrl-C, SIGTERM); it can be resumed. */
export class InterruptedError extends EnvwrightError {
  readonly exitCode = 130;
}

/** The nearest of `known` to `word` by edit distance, for "did you mean"; undefined when nothing is close, or three are as close: then it is a guess. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let ties = 0;
  let bestDistance = Math.max(2, Math.ceil(word.length / 2)) + 1;
  for (const candidate of new Set(known)) {
    const d = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (d === bestDistance) ties++;
    if (d < bestDistance) {
      best = candidate;
      bestDistance = d;
      ties = 1;
    }
  }
  return ties > 2 ? undefined : best;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(previous[j]! + 1, current[j - 1]! + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length]!;
}
