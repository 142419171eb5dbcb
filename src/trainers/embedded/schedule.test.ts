import { describe, expect, it } from "vitest";
import { trapezoidScale, warmupScale } from "./schedule.js";

describe("the learning-rate schedules", () => {
  it("rise linearly during warm-up and stay", () => {
    expect([0, 1, 3, 4, 100].map((s) => warmupScale(s, 4))).toEqual([0.25, 0.5, 1, 1, 1]);
    expect(warmupScale(0, 0)).toBe(1);
  });

  it("hold, then fall to the last value exactly at the last step", () => {
    const at = (s: number) => trapezoidScale(s, 101, 0, 0.3, 0.05);
    expect(at(0)).toBe(1);
    expect(at(30)).toBe(1);
    expect(at(100)).toBeCloseTo(0.05, 9);
    expect(at(65)).toBeGreaterThan(at(66));
  });
});
