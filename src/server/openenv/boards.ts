/**
 * Reset options → the board of an episode: the client's own, one of a frozen set, or one from the generator. Generated boards come in blocks
 * of consecutive seeds that meet the config's ratios together: seeds 0 to 15 are one block, 16 to 31 the next. The same config and seed
 * give the same board on every server.
 */
import { randomInt } from "node:crypto";
import { ConfigError, canonicalJson, InputError } from "../../core/index.js";
import { type Instance, mapfFrozenLake as lake, loadBenchmark, type MapfConfig } from "../../environments/mapf-frozenlake/index.js";
import { BoardMaker } from "./board-maker.js";
import type { ResetOptions } from "./schema.js";

export const BLOCK = 16;
const MAX_CACHED = 64;

/** What is generated unless a reset says otherwise. */
export const DEFAULT_CONFIG: MapfConfig = {
  agents: [2, 3],
  objective: "makespan",
  sizes: Object.fromEntries(["3", "4", "5", "6", "7", "8"].map((size) => [size, { data_ratio: 1 / 6, hole_ratio: 0.2, wait_ratio: 0.3 }])),
};

export interface BoardsOptions {
  config?: MapfConfig | undefined;
  /** Seconds that finding a board may take. */
  limit?: number;
  /** A seed for resets that name none. */
  freshSeed?: () => number;
}

export interface FoundBoard {
  instance: Instance;
  seed: number | null;
  objective: string;
}

export class Boards {
  private readonly maker: BoardMaker;
  private readonly blocks = new Map<string, Promise<Instance[]>>();
  private readonly config: MapfConfig;
  private readonly freshSeed: () => number;

  constructor({ config = DEFAULT_CONFIG, limit = 30, freshSeed = () => randomInt(2 ** 31) }: BoardsOptions = {}) {
    this.maker = new BoardMaker(limit * 1000);
    this.config = config;
    this.freshSeed = freshSeed;
  }

  /** @throws {InputError} for options that exclude each other or name no board @throws {EngineError} when it takes too long */
  async find(options: ResetOptions): Promise<FoundBoard> {
    const { set, index, instance: own } = options;
    const isGenerated = options.config != null || options.agents != null;
    const sources = [own != null && "instance", set != null && "set", isGenerated && "config or agents"].filter((name) => name !== false);
    if (sources.length > 1) throw refused(`${sources.join(" and ")} are given together`, "one source of boards");
    if (index != null && set == null) throw refused("index is given without set", "set and index, or neither");
    const objective = this.config.objective;
    if (own != null) return { instance: (await this.maker.make({ kind: "complete", value: own }))[0]!, seed: null, objective };
    if (set != null) {
      const boards = benchmark(set);
      const seed = index != null ? null : (options.seed ?? this.freshSeed());
      const instance = boards[index ?? seed! % boards.length];
      if (instance === undefined) throw refused(`${set} has no board ${index}`, `an index from 0 to ${boards.length - 1}`);
      return { instance, seed, objective };
    }
    const config = this.configOf(options);
    const seed = options.seed ?? this.freshSeed();
    return { instance: (await this.block(config, Math.floor(seed / BLOCK)))[seed % BLOCK]!, seed, objective: config.objective };
  }

  close(): Promise<void> {
    return this.maker.close();
  }

  private configOf({ config: given, agents }: ResetOptions): MapfConfig {
    const whole = given == null ? this.config : { ...this.config, ...given };
    const parsed = lake.configSchema.safeParse(agents == null ? whole : { ...whole, agents: [agents] });
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0]!;
    throw new ConfigError({
      message: `config.${issue.path.join(".")}: ${issue.message}`,
      expected: "a config as for `envwright generate`",
    });
  }

  private block(config: MapfConfig, block: number): Promise<Instance[]> {
    const key = `${block} ${canonicalJson(config)}`;
    const known = this.blocks.get(key);
    if (known !== undefined) return known;
    const made = this.maker.make({ kind: "generate", config, block, count: BLOCK });
    made.catch(() => this.blocks.delete(key));
    if (this.blocks.size >= MAX_CACHED) this.blocks.delete(this.blocks.keys().next().value!);
    this.blocks.set(key, made);
    return made;
  }
}

const benchmarks = new Map<string, Instance[]>();

function benchmark(name: string): Instance[] {
  const boards = benchmarks.get(name) ?? loadBenchmark(name);
  benchmarks.set(name, boards);
  return boards;
}

function refused(message: string, expected: string): InputError {
  return new InputError({ message, expected, remedy: "leave the others out" });
}
