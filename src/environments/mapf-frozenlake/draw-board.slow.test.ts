import { describe, expect, it } from "vitest";
import { type Random, Seed } from "../../core/index.js";
import { DrawnBoard } from "./draw-board.js";
import { SlotFiller } from "./fill-slot.js";
import { Solver } from "./solve/index.js";

/**
 * What the drawn boards look like against plain rejection (everything uniform, start ≠ goal, boards without a solution dropped): mean
 * shortest distance of an agent, and holes that touch another hole. The numbers in the headers of draw-board.ts and fill-slot.ts come
 * from here; run with `npx vitest run --project slow draw-board` to print them.
 */
interface Look {
  distance: number;
  touching: number;
  accepted: number;
}

const solver = new Solver();

function look(count: number, size: number, agents: number, wait: boolean | undefined, draw: () => Packed | undefined): Look {
  let [kept, drawn, distance, touching] = [0, 0, 0, 0];
  while (kept < count) {
    drawn++;
    const board = draw();
    if (board === undefined) continue;
    const certificate = solver.certifyPacked(size, board.isHole, board.starts, board.goals, agents, {
      needMakespan: false,
      needWait: wait !== undefined,
    });
    if (certificate.status !== "solved" || (wait !== undefined && certificate.wait_required !== wait)) continue;
    kept++;
    distance += certificate.optimum.sum_of_shortest / agents;
    touching += touchingPairs(size, board.isHole);
  }
  return { distance: distance / count, touching: touching / count, accepted: count / drawn };
}

interface Packed {
  isHole: Uint8Array;
  starts: ArrayLike<number>;
  goals: ArrayLike<number>;
}

/** Everything uniform. */
function rejectionDraw(size: number, holes: number, agents: number, random: Random): Packed | undefined {
  const cells = random.shuffle(Array.from({ length: size * size }, (_, cell) => cell));
  const isHole = new Uint8Array(size * size);
  for (const cell of cells.slice(0, holes)) isHole[cell] = 1;
  const free = cells.slice(holes);
  const starts = free.slice(0, agents);
  const goals = random.shuffle(free).slice(0, agents);
  return goals.some((goal, a) => goal === starts[a]) ? undefined : { isHole, starts, goals };
}

function touchingPairs(size: number, isHole: Uint8Array): number {
  let pairs = 0;
  for (let cell = 0; cell < size * size; cell++) {
    if (isHole[cell] === 0) continue;
    if (cell % size > 0 && isHole[cell - 1] === 1) pairs++;
    if (cell >= size && isHole[cell - size] === 1) pairs++;
  }
  return pairs;
}

describe("bias of what is drawn against rejection", () => {
  // `allowed`: relative difference of the mean shortest distance.
  it.each([
    { size: 4, holes: 2, allowed: 0.03 },
    { size: 6, holes: 4, allowed: 0.03 },
    { size: 6, holes: 7, allowed: 0.03 },
    { size: 6, holes: 11, allowed: 0.12 },
    { size: 10, holes: 20, allowed: 0.03 },
    { size: 10, holes: 30, allowed: 0.12 },
  ])("goals in their start's piece: $size x $size with $holes holes", ({ size, holes, allowed }) => {
    const agents = 3;
    const seed = Seed.root("draw-board.slow").child(size, holes);
    const drawn = new DrawnBoard();
    const [ours, theirs] = [seed.at(0), seed.at(1)];
    const pieces = look(4000, size, agents, undefined, () => (drawn.draw(size, holes, agents, ours) ? drawn : undefined));
    const rejection = look(4000, size, agents, undefined, () => rejectionDraw(size, holes, agents, theirs));
    console.log(`pieces ${size}x${size}, ${holes} holes`, JSON.stringify({ pieces, rejection }));
    expect(Math.abs(pieces.distance / rejection.distance - 1)).toBeLessThan(allowed);
    expect(Math.abs(pieces.touching / rejection.touching - 1)).toBeLessThan(0.1);
    expect(pieces.accepted).toBeGreaterThanOrEqual(rejection.accepted);
  });

  it.each([
    { size: 4, holes: 2 },
    { size: 6, holes: 4 },
    { size: 8, holes: 6 },
    { size: 10, holes: 10 },
    { size: 10, holes: 14 },
  ])("two agents drawn to have to wait: $size x $size with $holes holes", ({ size, holes }) => {
    const seed = Seed.root("draw-board.slow, wait").child(size, holes);
    const drawn = new DrawnBoard();
    const filler = new SlotFiller();
    const plain = seed.child("uniform").at(0);
    const uniform = look(1000, size, 2, true, () => (drawn.draw(size, holes, 2, plain) ? drawn : undefined));
    let index = 0;
    const helped = look(1000, size, 2, true, () => {
      const { filling } = filler.fill({ index, size, agents: 2, holes: [holes, holes], want: "wait" }, seed.at(index++), {});
      const isHole = new Uint8Array(size * size);
      for (const cell of filling!.holes) isHole[cell] = 1;
      return { isHole, starts: filling!.starts, goals: filling!.goals };
    });
    console.log(`waits ${size}x${size}, ${holes} holes`, JSON.stringify({ uniform, helped }));
    expect(helped.accepted).toBe(1);
    expect(Math.abs(helped.distance / uniform.distance - 1)).toBeLessThan(0.12);
  });
});
