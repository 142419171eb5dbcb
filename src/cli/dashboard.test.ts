import { resolve } from "node:path";
import { expect, test } from "vitest";
import { servedBeside } from "./dashboard.js";

test("beside a run in runs/ all of runs/ is served; beside a run elsewhere that run alone", () => {
  const all = { runs: resolve("runs"), isRun: false };
  for (const out of ["runs/tiny", "runs/sweep/a", resolve("runs/tiny"), "runs/..tiny"])
    expect([out, servedBeside(out)]).toEqual([out, all]);
  for (const out of ["x", "../x", "/home/me/x", "runs", "runs-2/x", ".", "runs/../x"]) {
    expect([out, servedBeside(out)]).toEqual([out, { runs: resolve(out), isRun: true }]);
  }
});
