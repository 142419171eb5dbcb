/**
 * What sets share: duplicates within each and boards in common between any two, under the canonical hash (8 symmetries, agent order), by
 * stratum. Keeps a hash, an id and a stratum per board and set; the instances themselves pass by.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { InputError, type InstanceBase, TextIndex } from "../core/index.js";
import { SETS } from "./instance-sets.js";

export interface AuditedSet {
  name: string;
  /** Instances, and different boards among them. */
  count: number;
  distinct: number;
  strata: Record<string, { count: number; distinct: number }>;
}

export interface Overlap {
  sets: [string, string];
  /** Different boards that both hold, in all and by stratum. */
  shared: number;
  strata: Record<string, number>;
  /** Some of them: ids in either set. */
  examples: [string, string][];
}

export interface AuditReport {
  sets: AuditedSet[];
  /** Only pairs that share a board. */
  overlaps: Overlap[];
  /** Pairs that were compared. */
  pairs: number;
}

const EXAMPLES = 3;

/**
 * A source → the sets in it, as [name, source]: a run folder (it has a run.json) stands for its stages' training sets and its evaluation
 * sets, anything else for itself.
 * @throws {InputError} for a folder that is no run's
 */
export function setsIn(source: string): [name: string, source: string][] {
  if (!existsSync(join(source, "run.json"))) {
    if (statSync(source, { throwIfNoEntry: false })?.isDirectory() !== true) return [[source, source]];
    throw new InputError({
      message: `${source} is a folder, but no run's: it has no run.json`,
      value: source,
      expected: `${SETS}, or a run folder`,
      remedy: "name the run folder, or a file in it",
    });
  }
  const found: [string, string][] = [];
  for (const name of ["validation", "held-out"]) found.push([`${source}: ${name}`, join(source, `${name}.parquet`)]);
  const stages = join(source, "stages");
  if (existsSync(stages)) {
    for (const stage of readdirSync(stages).sort()) found.push([`${source}: stage ${stage}`, join(stages, stage, "train.parquet")]);
  }
  return found.filter(([, path]) => existsSync(path));
}

export class Audit {
  private readonly boards = new TextIndex();
  /** Per set: number of a board → its first instance's id, which stratum it has. */
  private readonly members: Map<number, { id: string; stratum: string }>[] = [];
  private readonly sets: AuditedSet[] = [];

  /** Begins a set; its instances follow by `add`. */
  open(name: string): void {
    this.sets.push({ name, count: 0, distinct: 0, strata: {} });
    this.members.push(new Map());
  }

  add(instance: Pick<InstanceBase, "id" | "hash">, stratum: string): void {
    const set = this.sets.at(-1)!;
    const members = this.members.at(-1)!;
    const board = this.boards.add(instance.hash);
    const cell = set.strata[stratum] ?? { count: 0, distinct: 0 };
    set.strata[stratum] = cell;
    set.count++;
    cell.count++;
    if (members.has(board)) return;
    members.set(board, { id: instance.id, stratum });
    set.distinct++;
    cell.distinct++;
  }

  /** @param compare whether sets i < j are to be compared */
  report(compare: (i: number, j: number) => boolean): AuditReport {
    const overlaps: Overlap[] = [];
    let pairs = 0;
    for (let j = 1; j < this.sets.length; j++) {
      for (let i = 0; i < j; i++) {
        if (!compare(i, j)) continue;
        pairs++;
        const found = this.overlap(i, j);
        if (found.shared > 0) overlaps.push(found);
      }
    }
    return { sets: this.sets, overlaps, pairs };
  }

  private overlap(i: number, j: number): Overlap {
    const overlap: Overlap = { sets: [this.sets[i]!.name, this.sets[j]!.name], shared: 0, strata: {}, examples: [] };
    for (const [board, { id, stratum }] of this.members[j]!) {
      const other = this.members[i]!.get(board);
      if (other === undefined) continue;
      overlap.shared++;
      overlap.strata[stratum] = (overlap.strata[stratum] ?? 0) + 1;
      if (overlap.examples.length < EXAMPLES) overlap.examples.push([other.id, id]);
    }
    return overlap;
  }
}
