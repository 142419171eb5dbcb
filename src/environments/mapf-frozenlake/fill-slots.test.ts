import { describe, expect, it } from "vitest";
import { InfeasibleError, InterruptedError, Seed } from "../../core/index.js";
import type { MapfConfig } from "./config.js";
import { refusal } from "./feasibility-probe.js";
import { SlotFiller, type Tally } from "./fill-slot.js";
import { fillSlots } from "./fill-slots.js";
import { fillOptions, generateTraining } from "./generate.js";
import type { Slot } from "./quota.js";

const seed = Seed.root("fill-slots.test");
const config = (agents: number, sizes: MapfConfig["sizes"]): MapfConfig => ({ agents: [agents], objective: "makespan", sizes });
const slotsOf = (count: number, cell: Omit<Slot, "index">): Slot[] => Array.from({ length: count }, (_, index) => ({ index, ...cell }));

async function refused(attempt: Promise<unknown>): Promise<InfeasibleError> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InfeasibleError);
  return error as InfeasibleError;
}

describe("a class with fewer boards than are asked for", () => {
  // Four agents on the four free cells of a 2x2 block: they can turn by one cell or by two, and that is all.
  const crowded = config(4, { "3": { data_ratio: 1, hole_ratio: 0.5, wait_ratio: 0 } });

  it("is refused with the number there is, as soon as it is certain", async () => {
    const { message, expected, remedy } = await refused(generateTraining(crowded, { count: 500, seed }));
    expect(message).toBe(
      "of 3x3 boards with 4 agents, 5 holes and no necessary wait there are only 2 up to symmetry and agent order; the set needs 500",
    );
    expect(expected).toContain("at most 2 of this kind");
    expect(remedy).toContain("data ratio of size 3");
  });

  it("gives exactly the boards that there are, and again as often as asked where they may repeat", async () => {
    const { instances } = await generateTraining(crowded, { count: 2, seed });
    expect(new Set(instances.map(({ hash }) => hash)).size).toBe(2);
    const repeated = await generateTraining(crowded, { count: 50, seed, repeats: "allow" });
    expect(new Set(repeated.instances.map(({ hash }) => hash)).size).toBe(2);
    expect(repeated.manifest.sampling.repeated).toBe(48);
  });

  it("counts what is excluded, also where boards may repeat", async () => {
    const { instances } = await generateTraining(crowded, { count: 2, seed });
    const exclude = new Set(instances.map(({ hash }) => hash));
    const { message } = await refused(generateTraining(crowded, { count: 5, seed, exclude, repeats: "allow" }));
    expect(message).toContain("there are only 2 up to symmetry and agent order, 2 of them excluded; the set needs 1");
    exclude.delete(instances[0]!.hash);
    const rest = await generateTraining(crowded, { count: 5, seed, exclude, repeats: "allow" });
    expect(new Set(rest.instances.map(({ hash }) => hash))).toEqual(new Set([instances[0]!.hash]));
  });

  it("is refused alike by one worker and two", async () => {
    const slots = slotsOf(300, { size: 3, agents: 2, holes: [0, 0], want: "wait" });
    const [one, two] = await Promise.all(
      [1, 2].map((workers) => refused(fillSlots(slots, { ...fillOptions({ count: 300, seed, workers }), refuse: refusal }))),
    );
    expect(one!.message).toContain("of 3x3 boards with 2 agents, 0 holes and a necessary wait there are only 4");
    expect(two!.message).toBe(one!.message);
  });
});

it("A space too large to count that gives nothing new is exhausted after its rounds, and says so.", async () => {
  const slots = slotsOf(1, { size: 4, agents: 2, holes: [3, 3], want: "no-wait" });
  const everything = { has: () => true };
  const { message } = await refused(fillSlots(slots, { ...fillOptions({ count: 1, seed }), exclude: everything, refuse: refusal }));
  expect(message).toMatch(
    /^the space of 4x4 boards with 2 agents, 3 holes and no necessary wait is exhausted: 0 new ones found in \d{3} candidates/,
  );
});

describe("a slot that finds nothing", () => {
  // No board of this cell has a solution (empty-classes.ts), which the search is not told.
  const empty = { size: 3, agents: 5, holes: [4, 4] as [number, number], want: "wait" as const };

  it.each([1, 2])("ends the set at once, whatever comes after it, with %i workers", async (workers) => {
    const slots = slotsOf(400, empty);
    slots[0] = { ...slots[0]!, agents: 2 };
    const { message } = await refused(fillSlots(slots, { ...fillOptions({ count: 400, seed, workers }), refuse: refusal }));
    expect(message).toBe(
      "3x3 boards with 5 agents, 4 holes and a necessary wait are too rare: 0 accepted of 50000 candidates drawn (0.0000 %)",
    );
  });

  it.each([1, 2])("is left within the slot when the set is interrupted, with %i workers", async (workers) => {
    const control = new AbortController();
    const slots = slotsOf(400, empty);
    const attempt = fillSlots(slots, {
      ...fillOptions({ count: 400, seed, workers, signal: control.signal }),
      onProgress: (done) => {
        expect(done).toBe(0);
        control.abort();
      },
      refuse: refusal,
    });
    await expect(attempt).rejects.toThrow(InterruptedError);
  });

  it("whose candidates exhaust its search budget is told apart from one that is rare", async () => {
    const hard = slotsOf(1, { size: 3, agents: 4, holes: [2, 2], want: "wait", budget: 1 });
    const { message } = await refused(fillSlots(hard, { ...fillOptions({ count: 1, seed }), refuse: refusal }));
    expect(message).toMatch(/are too hard to certify: 0 accepted of \d+ candidates drawn/);
  });
});

it("A slot filled in many turns is the slot filled at once.", () => {
  const [atOnce, inTurns] = [new SlotFiller(), new SlotFiller()];
  for (const slot of slotsOf(20, { size: 5, agents: 3, holes: [6, 6], want: "wait" })) {
    const [a, b]: [Tally, Tally] = [{}, {}];
    const whole = atOnce.fill(slot, seed.at(slot.index), a);
    inTurns.begin(slot, seed.at(slot.index));
    let result = inTurns.advance(b, 0);
    let turns = 1;
    for (; result === undefined; turns++) result = inTurns.advance(b, 0);
    expect([result, b]).toEqual([whole, a]);
    expect(turns).toBe(whole.drawn);
  }
});
