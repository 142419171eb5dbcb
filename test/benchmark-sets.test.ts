import { expect, it } from "vitest";
import { committedTables, datasheetTables } from "../benchmarks/datasheet.js";

it("docs/benchmark-sets.md has the tables of the sets that are shipped (npx tsx benchmarks/datasheet.ts writes them)", () => {
  expect(committedTables()).toContain("### bench-3");
  expect(committedTables()).toBe(datasheetTables());
});
