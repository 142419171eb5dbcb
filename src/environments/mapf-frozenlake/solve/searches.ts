/**
 * The solver's searches (assembly/, AssemblyScript compiled to WebAssembly), one instance a solver: the board goes in and what is found comes
 * out through the instance's memory.
 */
import { neighbourTables } from "../neighbours.js";
import { BudgetExhausted } from "./budget-exhausted.js";
import { OFF_GRID, type PackedBoard, STRIDE } from "./packed-board.js";
import type { Path } from "./plan.js";
import { SEARCHES } from "./searches-wasm.js";

// Part of every JavaScript engine, but not of the types of Node.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (
    module: object,
    imports: Record<string, Record<string, (...values: number[]) => number | undefined>>,
  ) => { exports: object };
};

/** assembly/index.ts. Places in memory are bytes from its beginning. */
interface Exports {
  memory: { buffer: ArrayBuffer };
  holesAt(): number;
  startsAt(): number;
  goalsAt(): number;
  distancesAt(): number;
  neighbourTablesAt(): number;
  certify(size: number, agents: number, budget: number, needMakespan: number, needWait: number, stopAboveSic: number): number;
  deepen(lower: number, upper: number): number;
  foundSum(): number;
  foundMakespan(): number;
  foundWait(): number;
  sumOfShortest(): number;
  spend(nodes: number): void;
  spentNodes(): number;
  budgetLimit(): number;
  setBudgetLimit(nodes: number): void;
  sumOfCostsPath(agent: number): number;
  sumOfCostsArrival(agent: number): number;
  makespanPath(agent: number): number;
  makespanArrival(agent: number): number;
}

/** The greatest budget that can be counted. */
export const MOST_NODES = 2_000_000_000;

const STATUSES = ["unsolvable", "solved", "above-shortest"] as const;
const NEIGHBOURS = neighbourTables(() => STRIDE, OFF_GRID);
const module = new WebAssembly.Module(Buffer.from(SEARCHES, "base64"));

export interface Wanted {
  makespan: boolean;
  wait: boolean;
  /** Stop as soon as SOC > SIC is certain. */
  stopAboveSic: boolean;
}

export class Searches {
  private readonly exports: Exports;
  /** Of the whole memory, until it grows. */
  private bytes: Uint8Array;
  private size = 0;
  private agents = 0;

  /** @param isSolvable whether all agents of the board can reach their goals; undefined: undecided */
  constructor(isSolvable: (board: PackedBoard) => boolean | undefined) {
    const answer = () => {
      const solvable = isSolvable(this.board());
      return solvable === undefined ? -1 : Number(solvable);
    };
    const instance = new WebAssembly.Instance(module, {
      budget: { exhausted: endSearch },
      solver: { isSolvable: answer, deepenWithin: (nodes, lower, upper) => this.deepenWithin(nodes!, lower!, upper!) },
      env: { abort: fail },
    });
    this.exports = instance.exports as Exports;
    this.bytes = new Uint8Array(this.exports.memory.buffer);
    const tables = this.exports.neighbourTablesAt();
    for (const [size, table] of NEIGHBOURS.entries()) this.bytes.set(table, tables + size * 4 * STRIDE);
  }

  /** Nodes spent on the last board. */
  get nodes(): number {
    return this.exports.spentNodes();
  }

  get sumOfCosts(): number {
    return this.exports.foundSum();
  }

  /** −1 where it was not asked for. */
  get makespan(): number {
    return this.exports.foundMakespan();
  }

  get waitRequired(): boolean {
    return this.exports.foundWait() !== 0;
  }

  get sumOfShortest(): number {
    return this.exports.sumOfShortest();
  }

  /** @throws {BudgetExhausted} */
  certify(
    size: number,
    holes: ArrayLike<number>,
    starts: ArrayLike<number>,
    goals: ArrayLike<number>,
    agents: number,
    budget: number,
    wanted: Wanted,
  ): (typeof STATUSES)[number] {
    const { exports } = this;
    const bytes = this.memory();
    this.size = size;
    this.agents = agents;
    let at = exports.holesAt();
    for (let cell = 0; cell < size * size; cell++) bytes[at + cell] = holes[cell]!;
    at = exports.startsAt();
    for (let agent = 0; agent < agents; agent++) bytes[at + agent] = starts[agent]!;
    at = exports.goalsAt();
    for (let agent = 0; agent < agents; agent++) bytes[at + agent] = goals[agent]!;
    const nodes = Math.min(budget, MOST_NODES);
    return STATUSES[exports.certify(size, agents, nodes, Number(wanted.makespan), Number(wanted.wait), Number(wanted.stopAboveSic))]!;
  }

  /** Counts work that was done here. @throws {BudgetExhausted} */
  spend(nodes: number): void {
    this.exports.spend(nodes);
  }

  /** The path of an agent in the plan of least sum of costs found last, up to its final arrival. */
  sumOfCostsPath(agent: number): Path {
    return this.path(this.exports.sumOfCostsPath(agent), this.exports.sumOfCostsArrival(agent));
  }

  /** The path of an agent in the plan of least makespan found last; it may end with waits at the goal. */
  makespanPath(agent: number): Path {
    return this.path(this.exports.makespanPath(agent), this.exports.makespanArrival(agent));
  }

  private path(at: number, arrival: number): Path {
    return Array.from(this.memory().subarray(at, at + arrival + 1));
  }

  /** −1 where so many nodes do not suffice. @throws {BudgetExhausted} when the whole budget ends */
  private deepenWithin(nodes: number, lower: number, upper: number): number {
    const { exports } = this;
    const whole = exports.budgetLimit();
    exports.setBudgetLimit(Math.min(whole, exports.spentNodes() + nodes));
    try {
      return exports.deepen(lower, upper);
    } catch (error) {
      if (error instanceof BudgetExhausted && exports.spentNodes() <= whole) return -1;
      throw error;
    } finally {
      exports.setBudgetLimit(whole);
    }
  }

  /** The whole memory as it is now: a view ends when the memory grows. */
  private memory(): Uint8Array {
    if (this.bytes.length === 0) this.bytes = new Uint8Array(this.exports.memory.buffer);
    return this.bytes;
  }

  private board(): PackedBoard {
    const { exports, size, agents } = this;
    const bytes = this.memory();
    const part = (at: number, length: number) => bytes.subarray(at, at + length);
    return {
      size,
      count: agents,
      neighbours: NEIGHBOURS[size]!,
      holes: part(exports.holesAt(), size * size),
      starts: part(exports.startsAt(), agents),
      goals: part(exports.goalsAt(), agents),
      distances: part(exports.distancesAt(), agents * STRIDE),
    };
  }
}

function endSearch(): never {
  throw new BudgetExhausted();
}

function fail(): never {
  throw new Error("the solver's searches have come to a state that cannot be");
}
