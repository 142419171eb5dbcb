/**
 * A filled plan as a set: the order, the ids and the manifest. Instances are made from their packed records one batch after the other; the
 * manifest counts while they pass, so it is there once all have passed. Refuses to say anything before that.
 */
import { createHash, type Hash } from "node:crypto";
import { canonicalJson, type DatasetManifest, type GenerateOptions, SCHEMA_VERSION, type Seed } from "../../core/index.js";
import type { Tally } from "./fill-slot.js";
import { interrupted, roundSeed } from "./fill-slots.js";
import type { FilledSlots } from "./filled-slots.js";
import { hashCells } from "./hash.js";
import type { Cell, Instance } from "./instance.js";
import { PagedNumbers } from "./paged-records.js";

const EXCHANGES_A_TURN = 1024;

export interface GeneratedSet {
  instances: Instance[];
  manifest: DatasetManifest;
}

/** Sums over the instances of a size. */
interface Sums {
  count: number;
  holes: number;
  waits: number;
  conflicts: number;
  agents: number;
  distance: number;
}

export class StreamedSet {
  readonly count: number;
  /** Path of each round's streams, as it is met. */
  private readonly rounds = new Map<number, string>();
  private done: { digest: Hash; sums: Map<number, Sums> } | undefined;

  private constructor(
    private readonly filled: FilledSlots,
    private readonly order: PagedNumbers,
    private readonly tally: Tally,
    private readonly options: GenerateOptions,
    private readonly sizes: readonly string[],
    private readonly requested: (size: string) => Record<string, number>,
  ) {
    this.count = filled.length;
  }

  /** @param requested gives the knobs of a size as they were asked for @throws {InterruptedError} */
  static async of(
    filled: FilledSlots,
    tally: Tally,
    options: GenerateOptions,
    sizes: readonly string[],
    requested: (size: string) => Record<string, number>,
  ): Promise<StreamedSet> {
    return new StreamedSet(filled, await shuffledOrder(filled.length, options), tally, options, sizes, requested);
  }

  /** All instances in their order; `size` of them at most at once: few, since what lives on makes the heap grow. */
  *batches(size = 64): Generator<Instance[]> {
    const digest = createHash("sha256");
    const sums = new Map<number, Sums>();
    for (let first = 0; first < this.count; first += size) {
      const batch = Array.from({ length: Math.min(size, this.count - first) }, (_, i) => this.instance(first + i));
      for (const instance of batch) {
        digest.update(`${canonicalJson(instance)}\n`);
        addTo(sums, instance);
      }
      yield batch;
    }
    this.done = { digest, sums };
  }

  whole(): GeneratedSet {
    const instances = [...this.batches()].flat();
    return { instances, manifest: this.manifest() };
  }

  /** @throws {RangeError} before `batches` has come to its end */
  manifest(): DatasetManifest {
    if (this.done === undefined) throw new RangeError("the manifest of a set counts its instances: read them first");
    const { digest, sums } = this.done;
    const strata: DatasetManifest["strata"] = {};
    for (const size of this.sizes) {
      const own = sums.get(Number(size));
      strata[size] = { count: own?.count ?? 0, requested: this.requested(size), realised: realised(own, Number(size), this.count) };
    }
    return {
      schema_version: SCHEMA_VERSION,
      family: "mapf-frozenlake",
      count: this.count,
      seed: this.options.seed.path,
      sha256: digest.copy().digest("hex"),
      strata,
      // By name: not in the order in which each was first met.
      sampling: Object.fromEntries(Object.entries(this.tally).sort(([a], [b]) => (a < b ? -1 : 1))),
      excluded_hashes: this.options.exclude?.size ?? 0,
    };
  }

  private instance(position: number): Instance {
    const { index, size, round, filling } = this.filled.at(this.order.at(position));
    const cell = (id: number): Cell => [Math.floor(id / size), id % size];
    const { holes, starts, goals, sum_of_costs, makespan, sum_of_shortest } = filling;
    return {
      // toFixed: the text of a number in a template is remembered by the engine, long enough for most to be moved to its old heap.
      id: `${this.options.seed.path}:${position.toFixed()}`,
      size,
      holes: holes.map(cell),
      agents: starts.map((start, a) => ({ start: cell(start), goal: cell(goals[a]!) })),
      optimum: { sum_of_costs, makespan, sum_of_shortest },
      conflict: sum_of_costs > sum_of_shortest,
      wait_required: filling.wait_required,
      seed: `${this.pathOf(this.options.seed, round)}@${index.toFixed()}`,
      hash: hashCells(size, holes, holes.length, starts, goals, starts.length),
    };
  }

  private pathOf(seed: Seed, round: number): string {
    const known = this.rounds.get(round);
    if (known !== undefined) return known;
    const { path } = roundSeed(seed, round);
    this.rounds.set(round, path);
    return path;
  }
}

/** With a turn for signals now and then: of a hundred million instances it takes minutes. */
async function shuffledOrder(length: number, { seed, scratch, signal }: GenerateOptions): Promise<PagedNumbers> {
  const order = new PagedNumbers(length, scratch);
  const turn = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted) throw interrupted();
  };
  for (let i = 0; i < length; i++) {
    order.set(i, i);
    if (i % EXCHANGES_A_TURN === EXCHANGES_A_TURN - 1) await turn();
  }
  const random = seed.child("order").at(0);
  for (let last = length - 1; last > 0; last -= EXCHANGES_A_TURN) {
    random.shufflePart(last, Math.max(0, last - EXCHANGES_A_TURN), (i, j) => {
      const held = order.at(i);
      order.set(i, order.at(j));
      order.set(j, held);
    });
    await turn();
  }
  return order;
}

function addTo(all: Map<number, Sums>, { size, holes, wait_required, conflict, agents, optimum }: Instance): void {
  const sums = all.get(size) ?? { count: 0, holes: 0, waits: 0, conflicts: 0, agents: 0, distance: 0 };
  all.set(size, sums);
  sums.count++;
  sums.holes += holes.length;
  sums.waits += Number(wait_required);
  sums.conflicts += Number(conflict);
  sums.agents += agents.length;
  sums.distance += optimum.sum_of_shortest / agents.length;
}

/** The knobs as they came out, and what else describes the boards: conflict share, mean agents, mean shortest distance of an agent. */
function realised(own: Sums | undefined, size: number, total: number): Record<string, number> {
  if (own === undefined) return { data_ratio: 0 };
  const { count, holes, waits, conflicts, agents, distance } = own;
  return {
    data_ratio: count / total,
    // All of one size, so this is the mean of the boards' ratios, without its rounding.
    hole_ratio: holes / count / size ** 2,
    wait_ratio: waits / count,
    conflict_ratio: conflicts / count,
    agents: agents / count,
    distance: distance / count,
  };
}
