/**
 * EnvironmentFamily: the one interface through which every stage meets an environment. A family is a parameterised generator with its
 * rules. It declares its strata, knobs, failure codes and objectives as data, so that diagnosis, engineers and reports need no
 * knowledge of it. The conformance suite in src/environments/conformance.ts is what a family has to pass.
 */
import type { z } from "zod";
import type { Random, Seed } from "./random.js";
import type { DatasetManifest, FinishReason, InstanceBase, KnobTable, Repair, Verdict } from "./records.js";

/** `chat`: text for a language model. `compact`: words of a closed vocabulary, for the embedded miniature. */
export type Rendering = "chat" | "compact";

export interface KnobSpec {
  name: string;
  /** `share`: a distribution over strata (sums to 1). `ratio`: independent, within [min, max]. */
  kind: "share" | "ratio";
  min: number;
  max: number;
  /** What turning it up does, for the guideline and the docs. */
  description: string;
  /** Failure codes that call for turning this knob up. */
  answers: string[];
}

export interface FailureCode {
  code: string;
  /** The broken rule in one sentence. */
  description: string;
}

/** A word of the compact vocabulary; words with coordinates start from a two-dimensional Fourier embedding. */
export interface CompactWord {
  word: string;
  position?: { row: number; column: number; kind: number };
}

export interface InfeasibleCell {
  stratum: string;
  problem: string;
  /** The nearest config value that can be generated. */
  nearest: string;
}

/** What a Set of hashes and a TextIndex have in common. */
export type HashSet = Pick<ReadonlySet<string>, "has" | "size"> & Iterable<string>;

/** Bytes outside memory, for what is too much to keep in it. Its owner closes it. */
export interface Scratch {
  /** Bytes of each table of records that may be in memory all the same. */
  readonly resident: number;
  /** The position of `bytes` bytes that nobody else uses; they begin as zeros. */
  reserve(bytes: number): number;
  /** Fills `into` from `position`. @throws {StorageError} */
  read(into: Uint8Array, position: number): void;
  /** @throws {StorageError} */
  write(from: Uint8Array, position: number): void;
}

export interface GenerateOptions {
  count: number;
  seed: Seed;
  /** Canonical hashes that must not appear (benchmark, validation, earlier stages). */
  exclude?: HashSet;
  /** Where a stratum has too few distinct instances: `refuse` says so (the default), `allow` repeats some and counts them. */
  repeats?: "refuse" | "allow";
  /** Worker threads; the result does not depend on it. Default 1. */
  workers?: number;
  signal?: AbortSignal;
  onProgress?: (done: number, total: number) => void;
  /** For what a streamed set has to remember of its instances; stays open until `batches` has come to its end. Default: memory. */
  scratch?: Scratch;
}

export interface StreamedInstances<I> {
  batches(): Iterable<I[]>;
  manifest(): DatasetManifest;
}

export interface EnvironmentFamily<C = unknown, I extends InstanceBase = InstanceBase> {
  readonly name: string;
  readonly description: string;
  readonly configSchema: z.ZodType<C>;
  readonly instanceSchema: z.ZodType<I>;
  readonly knobs: readonly KnobSpec[];
  readonly failureCodes: readonly FailureCode[];
  /** Names of the cost objectives; the first is the default. */
  readonly objectives: readonly string[];
  /** What a stratum is called, e.g. "size". */
  readonly stratumLabel: string;
  /** Task-level design heuristics for the engineer (module G), Markdown. */
  readonly guideline: string;

  /** Every stratum that a config of this family can have, in ascending difficulty: the engineer's vocabulary covers them all. */
  readonly allStrata: readonly string[];

  /** Strata of a config in ascending difficulty. */
  strata(config: C): string[];
  objective(config: C): string;
  knobTable(config: C): KnobTable;
  /** The config with the knobs of `table`; strata that the table leaves out keep their values. Does not normalise. */
  withKnobs(config: C, table: KnobTable): C;
  /** Repairs what has one meaning (shares are normalised, ratios clamped to their bounds) and says what it did. Input satisfies the schema. */
  normalise(config: C): { config: C; repairs: Repair[] };
  /** A fresh random config over the strata of `like` (paper: starting point and fixed baseline). */
  randomConfig(like: C, random: Random): C;
  /** Cells that cannot be generated; empty when the config is feasible. */
  infeasible(config: C): InfeasibleCell[];

  /** Exactly `count` instances meeting the config's quotas exactly, in an order fixed by the seed. @throws {InfeasibleError} */
  generate(config: C, options: GenerateOptions): Promise<{ instances: I[]; manifest: DatasetManifest }>;
  /** The set of `generate`, handed out in batches and never whole in memory; the manifest is there after the last. Optional. */
  generateStreamed?(config: C, options: GenerateOptions): Promise<StreamedInstances<I>>;
  /** A set for evaluation, balanced over the family's dimensions (strata, tags), independent of the config's ratios. */
  generateBalanced(config: C, options: GenerateOptions): Promise<{ instances: I[]; manifest: DatasetManifest }>;

  /** Canonical hashes of the frozen benchmark sets: training and validation data never contain one of them. */
  reservedHashes(): Promise<ReadonlySet<string>>;

  stratum(instance: I): string;
  /** Facets for breakdowns, e.g. { agents: "3", conflict: "true" }. */
  tags(instance: I): Record<string, string>;
  /** An instance with everything that files from elsewhere may leave out computed. @throws {InputError} */
  complete(value: unknown): I;
  /** As `complete`, by what the instance is and not by what is certified of it: enough for its hash and its stratum. Default: `complete`. */
  identify?(value: unknown): InstanceBase;

  prompt(instance: I, rendering: Rendering): string;
  /** An optimal answer under the objective, as the policy should write it (for supervised base training). */
  demonstrate(instance: I, objective: string, rendering: Rendering): string;
  /** Judges one completion: parse, then every rule. Total: never throws for any text. Linear in its length. */
  verify(instance: I, completion: string, finish: FinishReason, rendering: Rendering): Verdict;

  /** The closed vocabulary of the compact rendering, without the engineer's words. */
  readonly compactWords: readonly CompactWord[];
  /** The word that ends a compact prompt; the answer follows it. */
  readonly compactPromptEnd: string;
}
