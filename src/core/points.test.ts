import { expect, it } from "vitest";
import { points } from "./points.js";

it("a difference is written in points with its sign, and without one where it rounds to nothing", () => {
  expect([0.0123, -0.0123, 0, -0, 0.0004, -0.0004, 0.0005, -1].map(points)).toEqual(["+1.2", "−1.2", "0.0", "0.0", "0.0", "0.0", "+0.1", "−100.0"]); // biome-ignore format: one list
});
