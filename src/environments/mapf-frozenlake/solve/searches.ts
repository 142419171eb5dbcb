/**
 * The solver's searches (assembly/, AssemblyScript compiled to WebAssembly), one instance a solver: the board goes in and what is found comes
 * out through the instance's memory.
 */
import { neighbourTables } from "../neighbours.js";
import { BudgetExhausted } from "./budget-exhausted.js";
import type { Path } from "./plan.js";
import { SEARCHES } from "./searches-wasm.js";
import { compiled, instantiated } from "./web-assembly.js";

/** assembly/index.ts. Places in memory are bytes from its beginning. */
interface Exports {
  memory: { buffer: ArrayBuffer };
  holesAt(): number;
  startsAt(): number;
  goalsAt(): number;
  neighbourTablesAt(): number;
  certify(size: number, agents: number, budget: number, needMakespan: number, needWait: number, stopAboveSic: number): number;
  deepen(lower: number, upper: number): number;
  resultsAt(): number;
  sumOfCostsPlanAt(): number;
  makespanPlanAt(): number;
  spentNodes(): number;
  budgetLimit(): number;
  setBudgetLimit(nodes: number): void;
}

/** The greatest budget that can be counted. */
const MOST_NODES = 2_000_000_000;

/** What `certify` answers, in the numbers of assembly/solver.ts. */
const STATUSES = ["unsolvable", "solved", "above-shortest"] as const;
/** Bytes of an agent in a plan: its arrival, then its cells. */
const ROOM = 256;
// As in assembly/grid.ts.
const STRIDE = 128;
const OFF_GRID = 127;
const NEIGHBOURS = neighbourTables(() => STRIDE, OFF_GRID);
const module = compiled(Buffer.from(SEARCHES, "base64"));

/** Writes what an instance does not know by itself into its memory, from `at` on. */
export function writeNeighbours(memory: ArrayBuffer, at: number): void {
  for (const [size, table] of NEIGHBOURS.entries()) new Uint8Array(memory).set(table, at + size * 4 * STRIDE);
}

export class Searches {
  private readonly exports: Exports;
  // Views of the whole memory, until it grows.
  private bytes: Uint8Array;
  private words: Int32Array;
  // Where things are.
  private readonly holes: number;
  private readonly starts: number;
  private readonly goals: number;
  private readonly results: number;
  private readonly sumOfCostsPlan: number;
  private readonly makespanPlan: number;

  /** @param undecidedNodes for a plan of a board that may have none: most that have one take fewer */
  constructor(private readonly undecidedNodes = 1_000_000) {
    const exports = instantiated(module, {
      budget: { exhausted: endSearch },
      solver: { deepenWithin: (lower, upper) => this.deepenWithin(lower!, upper!) },
      env: { abort: fail },
    }) as Exports;
    this.exports = exports;
    writeNeighbours(exports.memory.buffer, exports.neighbourTablesAt());
    this.bytes = new Uint8Array(exports.memory.buffer);
    this.words = new Int32Array(exports.memory.buffer);
    this.holes = exports.holesAt();
    this.starts = exports.startsAt();
    this.goals = exports.goalsAt();
    this.results = exports.resultsAt() / 4;
    this.sumOfCostsPlan = exports.sumOfCostsPlanAt();
    this.makespanPlan = exports.makespanPlanAt();
  }

  /** Nodes spent on the last board. */
  get nodes(): number {
    return this.exports.spentNodes();
  }

  /** −1 where it was not found. */
  get sumOfCosts(): number {
    return this.result(0);
  }

  /** −1 where it was not found. */
  get makespan(): number {
    return this.result(1);
  }

  /** −1 where some agent cannot reach its goal alone. */
  get sumOfShortest(): number {
    return this.result(2);
  }

  get waitRequired(): boolean {
    return this.result(3) === 1;
  }

  /**
   * `above-shortest` only where `stopAboveSic` asks to stop as soon as SOC > SIC is certain.
   * @throws {BudgetExhausted}
   */
  certify(
    size: number,
    holes: ArrayLike<number>,
    starts: ArrayLike<number>,
    goals: ArrayLike<number>,
    agents: number,
    budget: number,
    needMakespan: boolean,
    needWait: boolean,
    stopAboveSic: boolean,
  ): (typeof STATUSES)[number] {
    this.refresh();
    const { bytes } = this;
    for (let cell = 0; cell < size * size; cell++) bytes[this.holes + cell] = holes[cell]!;
    for (let agent = 0; agent < agents; agent++) {
      bytes[this.starts + agent] = starts[agent]!;
      bytes[this.goals + agent] = goals[agent]!;
    }
    const nodes = Math.min(budget, MOST_NODES);
    return STATUSES[this.exports.certify(size, agents, nodes, needMakespan ? 1 : 0, needWait ? 1 : 0, stopAboveSic ? 1 : 0)]!;
  }

  /** The path of an agent in the plan of least sum of costs found last, up to its final arrival. */
  sumOfCostsPath(agent: number): Path {
    return this.path(this.sumOfCostsPlan + agent * ROOM);
  }

  /** The path of an agent in the plan of least makespan found last; it may end with waits at the goal. */
  makespanPath(agent: number): Path {
    return this.path(this.makespanPlan + agent * ROOM);
  }

  private path(at: number): Path {
    this.refresh();
    const { bytes } = this;
    const path: Path = [];
    for (let t = 0; t <= bytes[at]!; t++) path.push(bytes[at + 1 + t]!);
    return path;
  }

  private result(place: number): number {
    this.refresh();
    return this.words[this.results + place]!;
  }

  /** −1 where the nodes for an undecided board do not suffice. @throws {BudgetExhausted} when the whole budget ends */
  private deepenWithin(lower: number, upper: number): number {
    const { exports } = this;
    const whole = exports.budgetLimit();
    exports.setBudgetLimit(Math.min(whole, exports.spentNodes() + this.undecidedNodes));
    try {
      return exports.deepen(lower, upper);
    } catch (error) {
      if (error instanceof BudgetExhausted && exports.spentNodes() <= whole) return -1;
      throw error;
    } finally {
      exports.setBudgetLimit(whole);
    }
  }

  /** Views end when the memory grows. */
  private refresh(): void {
    if (this.bytes.length > 0) return;
    this.bytes = new Uint8Array(this.exports.memory.buffer);
    this.words = new Int32Array(this.exports.memory.buffer);
  }
}

function endSearch(): never {
  throw new BudgetExhausted();
}

function fail(): never {
  throw new Error("the solver's searches have come to a state that cannot be");
}
