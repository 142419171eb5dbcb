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
    this.arrivals.set(planner.arrivals);
    this.paths.set(planner.paths.subarray(0, count * HORIZON));
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
    return Array.from(this.paths.subarray(agent * HORIZON, agent * HORIZON + this.arrivals[agent]! + 1));
  }
}
