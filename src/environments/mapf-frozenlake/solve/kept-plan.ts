/** The best plan so far, copied out of the planner before the next attempt overwrites it. */
import { MAX_AGENTS } from "../instance.js";
import type { Path } from "./plan.js";
import { HORIZON, type PrioritisedPlanner } from "./prioritised.js";

export class KeptPlan {
  private readonly paths = new Uint8Array(MAX_AGENTS * HORIZON);
  private readonly arrivals = new Int32Array(MAX_AGENTS);
  private count = 0;

  copy(planner: PrioritisedPlanner, count: number): void {
    this.count = count;
    for (let agent = 0; agent < count; agent++) {
      const arrival = planner.arrivals[agent]!;
      this.arrivals[agent] = arrival;
      const from = agent * HORIZON;
      for (let t = from; t <= from + arrival; t++) this.paths[t] = planner.paths[t]!;
    }
  }

  adopt(other: KeptPlan): void {
    this.count = other.count;
    this.arrivals.set(other.arrivals);
    this.paths.set(other.paths);
  }

  makespan(): number {
    let longest = 0;
    for (let agent = 0; agent < this.count; agent++) longest = Math.max(longest, this.arrivals[agent]!);
    return longest;
  }

  /** Whether some agent waits before its final arrival. */
  hasWait(): boolean {
    for (let agent = 0; agent < this.count; agent++) {
      const at = agent * HORIZON;
      for (let t = 1; t <= this.arrivals[agent]!; t++) if (this.paths[at + t] === this.paths[at + t - 1]) return true;
    }
    return false;
  }

  path(agent: number): Path {
    const from = agent * HORIZON;
    const path: number[] = [];
    for (let t = 0; t <= this.arrivals[agent]!; t++) path.push(this.paths[from + t]!);
    return path;
  }
}
