/** Evaluations of the served folder as the page shows them, made by the command line on a few boards. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callCli } from "../../../test/call-cli.js";
import { Evaluations } from "./evaluations.js";
import { ServedRoot } from "./root.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-evaluations-"));
beforeAll(async () => {
  const evaluate = async (policy: string, limit: number, name: string) =>
    expect((await callCli(["eval", "--policy", policy, "--set", "bench-3", "--limit", String(limit), "--out", join(dir, name), "--quiet"])).code).toBe(0); // biome-ignore format: one call
  await evaluate("oracle", 8, "b");
  await evaluate("random", 8, "a");
  await evaluate("oracle", 6, "fewer");
  for (const name of ["broken", "unfinished"]) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, "eval.json"), readFileSync(join(dir, "a", "eval.json")));
  }
  writeFileSync(join(dir, "broken", "report.json"), "{");
}, 60_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("evaluations of the same boards are compared with the first or with the chosen one; what cannot be read says why", async () => {
  const evaluations = new Evaluations(ServedRoot.at(dir));
  const first = await evaluations.benchmarks();
  expect(first.evaluations.map(({ id, report }) => [id, report?.total.n])).toEqual([["a", 8], ["b", 8], ["broken", undefined], ["fewer", 6], ["unfinished", undefined]]); // biome-ignore format: one table
  expect(first.evaluations.map(({ problem }) => problem?.replace(dir, ""))).toEqual([
    undefined,
    undefined,
    expect.stringContaining("report.json"),
    undefined,
    "not finished; go on with it: envwright eval --resume /unfinished",
  ]);
  const gain = 1 - first.evaluations[0]!.report!.total.valid.rate;
  expect(gain).toBeGreaterThan(0);
  expect(first.paired).toMatchObject([{ id: "b", reference: "a", valid: { difference: gain, n: 8 } }]);
  const { paired } = await evaluations.benchmarks("b");
  expect(paired).toMatchObject([{ id: "a", reference: "b", valid: { difference: -gain, n: 8 } }]);
});

test("a report is read and compared once until it changes", async () => {
  const evaluations = new Evaluations(ServedRoot.at(dir));
  const [first, again] = [await evaluations.benchmarks(), await evaluations.benchmarks()];
  expect(again.paired[0]!.valid).toBe(first.paired[0]!.valid);
  utimesSync(join(dir, "a", "report.json"), 1, 1);
  const anew = await evaluations.benchmarks();
  expect(anew.paired[0]!.valid).not.toBe(first.paired[0]!.valid);
  expect(anew.paired).toEqual(first.paired);
});

test("an evaluation of which much failed outside is told to be over the boards that were answered", async () => {
  cpSync(join(dir, "b"), join(dir, "half"), { recursive: true });
  const report = JSON.parse(readFileSync(join(dir, "half", "report.json"), "utf8"));
  report.total = { ...report.total, n: 4, answers: 4, failed: 4, failed_share: 0.5 };
  writeFileSync(join(dir, "half", "report.json"), JSON.stringify(report));
  const { evaluations } = await new Evaluations(ServedRoot.at(dir)).benchmarks();
  const shown = evaluations.flatMap((e) => (e.report === null ? [] : [[e.id, e.report.instances, e.report.partial]]));
  expect(shown).toEqual([["a", 8, false], ["b", 8, false], ["fewer", 6, false], ["half", 8, true]]); // biome-ignore format: one table
});
