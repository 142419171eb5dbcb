import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { compileSearches } from "./testing/compile-searches.js";

it("the searches that are shipped are those of assembly/; otherwise: npm run build:searches", async () => {
  const shipped = readFileSync(new URL("searches-wasm.ts", import.meta.url), "utf8");
  expect((await compileSearches()) === shipped).toBe(true);
});
