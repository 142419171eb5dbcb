import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { callCli } from "./call-cli.js";
import { folderBytes } from "./folder-bytes.js";
import { type TestBench, untrainedBench } from "./untrained-base.js";

let bench: TestBench;
const at = (name: string) => join(bench.dir, name);
beforeAll(async () => {
  bench = await untrainedBench({ stages: 2, steps: 2 });
});

test("a run prints its report as one JSON document and leaves the folder that the design names", async () => {
  const { code, stdout } = await callCli(["run", bench.recipe, "--out", at("run"), "--seed", "5", "--json"]);
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  expect(report.run).toMatchObject({ name: "test", seed: 5, stages: { planned: 2, finished: 2 } });
  expect(report.base.n).toBe(12);
  expect(report.stages.map((s: { index: number }) => s.index)).toEqual([0, 1]);
  expect(report.stages[0].proposal).toMatchObject({ engineer: "self", variant: "V6" });
  expect(report.stages[1].config.sizes).toHaveProperty("3");
  const files = ["config.json", "dataset.json", "train.parquet", "rollouts.parquet", "checkpoint", "validation.json", "failures.json"];
  for (const name of files) expect(existsSync(at(`run/stages/01/${name}`)), name).toBe(true);
  for (const name of ["context.md", "proposal.json"]) expect(existsSync(at(`run/stages/00/${name}`)), name).toBe(true);
  expect(readFileSync(at("run/metrics.jsonl"), "utf8").trim().split("\n")).toHaveLength(4);

  const again = await callCli(["report", at("run"), "--json"]);
  expect(JSON.parse(again.stdout)).toEqual(report);
  const resumed = await callCli(["run", "--resume", at("run"), "--json"]);
  expect(JSON.parse(resumed.stdout)).toEqual(report);
});

test("an interrupted run goes on with other settings of the machine, which are told and recorded, to the bytes of the run without them", async () => {
  const controller = new AbortController();
  const argv = ["run", bench.recipe, "--out", at("elsewhere"), "--seed", "5", "--json"];
  const begun = callCli(argv, controller.signal);
  while (!existsSync(at("elsewhere/stages/00/config.json"))) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  expect((await begun).code).toBe(130);
  expect((await callCli(["run", "--resume", at("elsewhere"), "--set", "workers=2", "--json"])).code).toBe(0);
  expect(readFileSync(at("elsewhere/events.jsonl"), "utf8")).toContain("the run goes on with workers=2");
  const record = JSON.parse(readFileSync(at("elsewhere/run.json"), "utf8"));
  expect(record).toMatchObject({ recipe: { workers: 2 }, changed: [["workers=2"]] });
  expect(folderBytes(at("elsewhere"), ["run.json"])).toEqual(folderBytes(at("run"), ["run.json"]));
});

test("a stage of which a good part repeats, because there are no more different boards, is told", async () => {
  const knobs = { 3: { data_ratio: 1, hole_ratio: 0.5, wait_ratio: 0.2 }, 4: { data_ratio: 0, hole_ratio: 0.1, wait_ratio: 0.2 } };
  const few = [`config.sizes=${JSON.stringify(knobs)}`, "stages=1", "instances=400", "trainer.grpo.steps=1"];
  const { code } = await callCli(["run", bench.recipe, "--out", at("few"), ...few.flatMap((s) => ["--set", s]), "--json"]);
  expect(code).toBe(0);
  const { sampling } = JSON.parse(readFileSync(at("few/stages/00/dataset.json"), "utf8"));
  expect(sampling.repeated).toBeGreaterThan(40);
  expect(readFileSync(at("few/events.jsonl"), "utf8")).toContain(`${sampling.repeated} of 400 instances repeat others of the stage`);
  expect(readFileSync(at("run/events.jsonl"), "utf8")).not.toContain("repeat");
});

test("a stored stage can be asked again: by the run's own engineer with its own answer, and by another one", async () => {
  const proposal = JSON.parse(readFileSync(at("run/stages/00/proposal.json"), "utf8"));
  const own = await callCli(["propose", "--from", at("run/stages/00"), "--json"]);
  expect(JSON.parse(own.stdout).proposals).toEqual([proposal]);
  const rule = await callCli(["propose", "--from", at("run/stages/00"), "--engineer", "rule"]);
  expect(rule.code).toBe(0);
  expect(rule.stdout).toMatch(/current +proposed[\s\S]*3 +data_ratio +50\.0[\s\S]*\n(accepted|repaired) \(rule V6, asked once\)/);
  const twice = await callCli(["propose", "--from", at("run/stages/00"), "--engineer", "rule", "--engineer", "hardest", "--samples", "2"]);
  expect(twice.stdout).toMatch(/The same config: rule sample 0, rule sample 1\nThe same config: hardest sample 0, hardest sample 1/);
  for (const [engineer, remedy] of [
    ["human", /asked in a run/],
    ["replay", /this run names none/],
    ["llm", /--model openai:MODEL/],
  ] as const) {
    const refused = await callCli(["propose", "--from", at("run/stages/00"), "--engineer", engineer]);
    expect([engineer, refused.code, refused.stderr]).toEqual([engineer, 2, expect.stringMatching(remedy)]);
  }
  const context = await callCli(["propose", "--from", at("run/stages/00"), "--context"]);
  expect(context.stdout).toBe(readFileSync(at("run/stages/00/context.md"), "utf8"));
  expect((await callCli(["propose", "--from", at("run")])).code).toBe(2);
  const none = await callCli(["propose", "--from", at("run/stages/05")]);
  expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/has no stage 5[\s\S]*an evaluated stage: 0, 1/)]);
});

test("what is made of a recipe's config is told and recorded, and a knob that a random first config would not use is named", async () => {
  const wait = "config.sizes.3.wait_ratio=1.5";
  const given = await callCli(["run", bench.recipe, "--out", at("given"), "--set", wait, "--set", "initial=given", "--set", "stages=1"]);
  expect([given.code, given.stderr]).toEqual([0, expect.stringMatching(/repaired sizes\.3\.wait_ratio: 1\.5 → 1/)]);
  const config = JSON.parse(readFileSync(at("given/stages/00/config.json"), "utf8"));
  expect([config.requested.sizes["3"].wait_ratio, config.normalised.sizes["3"].wait_ratio]).toEqual([1.5, 1]);
  expect(config.repairs).toMatchObject([{ path: "sizes.3.wait_ratio", from: 1.5, to: 1 }]);
  const drawn = await callCli(["run", bench.recipe, "--out", at("drawn"), "--set", wait, "--set", "initial=random", "--set", "stages=1"]);
  expect([drawn.code, drawn.stderr]).toEqual([
    0,
    expect.stringMatching(/config\.sizes\.3\.wait_ratio: without effect[\s\S]*initial=given/),
  ]);
});

/** One cell: the run that the first test made. */
function matrix(name: string, set: Record<string, string> = {}): string {
  writeFileSync(at(`${name}.json`), JSON.stringify({ name, recipe: bench.recipe, seeds: [5], arms: { self: {} }, reference: "self", set }));
  return at(`${name}.json`);
}

test("an experiment takes a finished run of its own program; those of another one, and what cannot be read, are passed over and named", async () => {
  for (const name of ["a-broken", "b-other", "c-same"]) cpSync(at("run"), at(`runs/${name}`), { recursive: true });
  writeFileSync(at("runs/a-broken/run.json"), "{");
  const record = JSON.parse(readFileSync(at("run/run.json"), "utf8"));
  const other = { ...record, versions: { ...record.versions, program: "0".repeat(64) } };
  writeFileSync(at("runs/b-other/run.json"), JSON.stringify(other));
  const line = ["experiment", matrix("reusing"), "--out", at("reusing"), "--reuse", at("runs")];
  const taken = await callCli(line);
  expect(taken.code, taken.stderr).toBe(0);
  expect(taken.stderr).toMatch(/a-broken cannot be read, and is passed over/);
  expect(taken.stderr).toMatch(
    /self-seed5: .*b-other has the same recipe and seed, but it was made with other program than are here: not taken/,
  );
  expect(taken.stderr).toMatch(/self-seed5: taken from .*c-same/);
  expect(folderBytes(at("reusing/self-seed5"))).toEqual(folderBytes(at("run")));

  writeFileSync(at("reusing/self-seed5/run.json"), JSON.stringify(other));
  const kept = await callCli(["experiment", at("reusing.json"), "--out", at("reusing"), "--resume"]);
  expect([kept.code, kept.stderr]).toEqual([0, expect.stringMatching(/self-seed5: kept, though it was made with other program/)]);

  mkdirSync(at("occupied/self-seed5"), { recursive: true });
  writeFileSync(at("occupied/self-seed5/notes.txt"), "no run");
  const occupied = await callCli(["experiment", at("reusing.json"), "--out", at("occupied"), "--resume", "--reuse", at("runs")]);
  expect([occupied.code, occupied.stderr]).toEqual([
    1,
    expect.stringMatching(/self-seed5 is not empty and holds no run \(it has notes\.txt\)/),
  ]);
  expect(readdirSync(at("occupied/self-seed5"))).toEqual(["notes.txt"]);
});

test("every cell of every shipped experiment could be started", async () => {
  const folder = join(import.meta.dirname, "../recipes/experiments");
  for (const file of readdirSync(folder)) {
    // The folder of the results is refused last, after every cell's recipe was checked.
    const { code, stderr } = await callCli(["experiment", join(folder, file), "--out", bench.dir]);
    expect([file, code, stderr]).toEqual([file, 2, expect.stringContaining(`${bench.dir} is not empty`)]);
  }
});

test("what cannot be started is refused before anything is written", async () => {
  const refusals: [string[], RegExp][] = [
    [["run", bench.recipe, "--out", at("run")], /already holds a run/],
    [["run", bench.recipe, "--resume", at("run")], /exclude each other/],
    [["run", "--resume", at("run"), "--seed", "2"], /--seed cannot change/],
    [["run", "--resume", at("run"), "--set", "stages=9", "--set", "workers=1"], /--set stages cannot change[\s\S]*trainer\.micro_batch/],
    [["run", "--resume", at("run"), "--set", "workers=1"], /the run is finished, so --set would change nothing/],
    [["run", "--resume", at("nowhere")], /no such folder/],
    [["run", bench.recipe, "--out", at("new"), "--set", "base=nowhere"], /nowhere: no such checkpoint folder/],
    [["run", bench.recipe, "--out", at("new"), "--set", "engineer.name=rul"], /engineer "rul"/],
    [["run", bench.recipe, "--out", at("new"), "--set", "config.sizes.3.hole_ration=0.1"], /hole_ratio/],
    [["run", bench.recipe, "--out", at("new"), "--reuse-stages", at("nowhere")], /--reuse-stages .*nowhere: no such folder/],
    [["experiment", matrix("plain"), "--out", at("new"), "--reuse", at("nowhere")], /--reuse .*nowhere: no such folder/],
    [
      ["experiment", matrix("baseless", { base: at("nowhere") }), "--out", at("new")],
      /no cell can start: the base of self-seed5: .*nowhere[\s\S]*pretrain/,
    ],
    [["run"], /RECIPE is missing/],
  ];
  for (const [argv, message] of refusals) {
    const { code, stdout, stderr } = await callCli(argv);
    expect([argv, code, stdout]).toEqual([argv, 2, ""]);
    expect(stderr).toMatch(message);
  }
  expect(existsSync(at("new"))).toBe(false);
});

test("a checkpoint of the run is a policy that can be evaluated", async () => {
  const dry = await callCli(["eval", "--policy", `embedded:${at("base")}`, "--set", at("run/validation.parquet"), "--dry-run", "--json"]);
  expect(JSON.parse(dry.stdout)).toMatchObject({
    instances: 12,
    completions: 12,
    first_prompt: expect.stringMatching(/^<size:[34]>.*<plan>$/),
  });
  const set = ["--set", at("run/validation.parquet"), "--max-tokens", "12", "--workers", "1"];
  const evaluated = await callCli(["eval", "--policy", `embedded:${at("run/stages/01/checkpoint")}`, ...set, "--json"]);
  const own = JSON.parse(readFileSync(at("run/stages/01/validation.json"), "utf8"));
  expect(JSON.parse(evaluated.stdout).total).toMatchObject({ n: 12, valid: own.total.valid, codes: own.total.codes });
});
