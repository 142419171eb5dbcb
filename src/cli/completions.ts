/**
 * Completions in a file and the instances that they answer: what `verify` judges and `draw --completion` draws. How an answer ended is read
 * as an endpoint's is, so that an answer that the endpoint ended, and not the model, is told apart. Judges nothing; an answer to another
 * board than the one that it would be judged on is refused, as far as the files tell.
 */
import { type CompletionRecord, CorruptFileError, completionSchema, type FinishReason, InputError, type InstanceBase, parseWith } from "../core/index.js"; // biome-ignore format: one line
import type { AnyFamily } from "../environments/index.js";
import { endedByEndpoint, finishOf } from "../policies/endpoint/answer.js";
import { readRows } from "../store/index.js";

export interface StoredCompletion {
  /** File and line, for messages. */
  at: string;
  instance: CompletionRecord["instance"];
  hash: CompletionRecord["hash"];
  text: string;
  ending: Ending;
}

/** How the model's answer ended, or what kept the endpoint from giving one: nothing that a model is judged by. */
export type Ending = { finish: FinishReason } | { problem: string };

const EXPECTED =
  '{"instance": id or line number, "completion": text, "finish_reason": "stop" (default), "length" or another word of the endpoint, "hash": of the instance, checked where it is given}';

/** In the order of the file. @throws {CorruptFileError} naming the line that is no completion */
export async function* readCompletions(file: string): AsyncGenerator<StoredCompletion> {
  let line = 0;
  for await (const rows of readRows(file)) {
    for (const row of rows) {
      const at = `${file}, line ${++line}`;
      const { instance, hash, completion, finish_reason } = parseWith(completionSchema, row, at, CorruptFileError, EXPECTED);
      yield { at, instance, hash, text: completion, ending: endingOf(finish_reason) };
    }
  }
}

function endingOf(reason: string | null | undefined): Ending {
  const problem = endedByEndpoint(reason);
  return problem === undefined ? { finish: finishOf(reason) } : { problem };
}

type Reference = Pick<StoredCompletion, "at" | "instance" | "hash">;

/** Finds instances by id, or else by line number from 1. A hash beside it must be the instance's, and tells boards of one id apart. */
export class InstanceFinder<I extends InstanceBase> {
  private readonly rows = new Map<string, number[]>();

  constructor(
    private readonly instances: readonly I[],
    private readonly source: string,
    private readonly family: AnyFamily,
  ) {
    instances.forEach(({ id }, i) => {
      const same = this.rows.get(id);
      if (same === undefined) this.rows.set(id, [i]);
      // The same board again is no other: its answers are judged alike.
      else if (!same.some((j) => this.isSame(j, i))) same.push(i);
    });
  }

  /** @throws {InputError} for a reference that names no instance, several, or one of another hash */
  find(reference: Reference): I {
    return this.instances[this.rowOf(reference)]!;
  }

  /** Whether a completion is of the instance in `row`, from 0. What names other instances only is no matter of it. @throws {InputError} as `find` */
  isOf(row: number, reference: Reference): boolean {
    return this.candidates(reference).some((i) => this.isSame(i, row)) && this.isSame(this.rowOf(reference), row);
  }

  private candidates({ instance }: Reference): readonly number[] {
    const line = /^\d+$/.test(String(instance)) ? Number(instance) : 0;
    const byNumber = line >= 1 && line <= this.instances.length ? [line - 1] : [];
    return (typeof instance === "string" ? this.rows.get(instance) : undefined) ?? byNumber;
  }

  private rowOf(reference: Reference): number {
    const { at, instance, hash } = reference;
    const { instances, source } = this;
    const candidates = this.candidates(reference);
    const [first] = candidates;
    if (first === undefined) {
      throw new InputError({
        message: `${at}: there is no instance ${JSON.stringify(instance)} in ${source}`,
        value: instance,
        expected: `an id of that file, or a line number from 1 to ${instances.length}`,
        remedy: "check that both files belong together",
      });
    }
    // A column that only some answers fill gives null.
    const matching = hash === undefined || hash === null ? candidates : candidates.filter((i) => instances[i]!.hash === hash);
    if (matching.length === 0) {
      throw new InputError({
        message: `${at}: the hash ${hash} is not that of ${JSON.stringify(instance)} in ${source}, row ${first + 1} (${instances[first]!.hash})`,
        value: hash,
        expected: "an answer to the board that it is judged on",
        remedy: "give the set that was asked: ids hold the seed and the place, and sets of one seed share them",
      });
    }
    if (matching.length > 1) {
      throw new InputError({
        message: `${at}: ${JSON.stringify(instance)} is the id of different boards in ${source}, rows ${matching.map((i) => i + 1).join(" and ")}`,
        value: instance,
        expected: "an id that stands on one board",
        remedy: `name the board by its line number (${matching[0]! + 1}), keep the hash of the exported prompt in the row, or give the boards distinct ids`,
      });
    }
    return matching[0]!;
  }

  /** The canonical hash is that of the turned board too; the prompt is what was answered. */
  private isSame(i: number, j: number): boolean {
    if (i === j) return true;
    const [a, b] = [this.instances[i]!, this.instances[j]!];
    return a.id === b.id && a.hash === b.hash && this.family.prompt(a, "compact") === this.family.prompt(b, "compact");
  }
}
