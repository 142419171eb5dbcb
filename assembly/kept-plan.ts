/** The best plan so far, copied out of the planner before the next attempt overwrites it. */
import { byteAt, copyBytes, setByte } from "./bytes";
import { MAX_AGENTS, nameOf } from "./grid";
import { arrivalOf, pathOf } from "./planner";
import { takeSpace } from "./space";

/** An agent's room, by its name: its arrival, then its path. */
const ROOM: i32 = 256;

export class KeptPlan {
  readonly rooms: usize = takeSpace(MAX_AGENTS * ROOM);
  private count: i32 = 0;

  /** Keeps the planner's plan for the first `count` agents. */
  keep(count: i32): void {
    this.count = count;
    for (let agent = 0; agent < count; agent++) {
      const arrival = arrivalOf(agent);
      setByte(this.room(agent), arrival);
      copyBytes(this.path(agent), pathOf(agent), arrival + 1);
    }
  }

  adopt(other: KeptPlan): void {
    this.count = other.count;
    for (let agent = 0; agent < this.count; agent++) copyBytes(this.room(agent), other.room(agent), other.arrival(agent) + 2);
  }

  /** The time of the agent's final arrival. */
  arrival(agent: i32): i32 {
    return byteAt(this.room(agent));
  }

  /** Where the agent's cells stand, from its start to its final arrival. */
  path(agent: i32): usize {
    return this.room(agent) + 1;
  }

  makespan(): i32 {
    let longest = 0;
    for (let agent = 0; agent < this.count; agent++) longest = max(longest, this.arrival(agent));
    return longest;
  }

  /** Whether some agent waits before its final arrival. */
  hasWait(): bool {
    for (let agent = 0; agent < this.count; agent++) {
      const path = this.path(agent);
      for (let t = 1; t <= this.arrival(agent); t++) if (byteAt(path + t) === byteAt(path + t - 1)) return true;
    }
    return false;
  }

  private room(agent: i32): usize {
    return this.rooms + nameOf(agent) * ROOM;
  }
}
