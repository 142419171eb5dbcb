import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { routeNotes } from "../src/cli/notes.js";
import { runProgram } from "../src/cli/program.js";
import { stageConfigSchema, trainingSummarySchema, validationReportSchema } from "../src/core/index.js";
import { RunFolder } from "../src/store/index.js";
import { callCli } from "./call-cli.js";
import { MAIN, runCli, TSX } from "./run-cli.js";
import { sampleHistory } from "./sample-history.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-commands-"));
const at = (name: string) => join(dir, name);
/** Two agents side by side that have to pass each other. */
const board = { size: 3, holes: [[0, 2]], agents: [{ start: [0, 0], goal: [0, 1] }, { start: [0, 1], goal: [0, 0] }] }; // biome-ignore format: one line

test("help lists the verbs, the version is the package's, and an unknown verb is refused with the nearest", async () => {
  const help = await callCli(["--help"]);
  const version = await callCli(["--version"]);
  const unknown = await callCli(["reprot"]);
  expect(help.code).toBe(0);
  for (const verb of ["run", "report", "pretrain", "generate", "solve", "verify", "eval", "propose", "experiment", "doctor"])
    expect(help.stdout).toMatch(new RegExp(`^ +${verb} +[A-Z]`, "m"));
  expect(version.stdout.trim()).toBe(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
  expect(unknown).toMatchObject({ code: 2, stdout: "" });
  expect(unknown.stderr).toMatch(/unknown command "reprot", did you mean "report"\?/);
});

test("Ctrl-C promises that what is done is kept only for verbs that can be gone on with", async () => {
  const kept: Record<string, boolean> = {};
  const release = routeNotes(() => {});
  for (const argv of [
    ["run", at("nowhere.yaml")],
    ["experiment", at("nowhere.yaml")],
    ["sql", at("nowhere"), "select 1"],
  ]) {
    const interrupts = (keeps: boolean) => {
      kept[argv[0]!] = keeps;
      return new AbortController().signal;
    };
    expect(await runProgram(argv, { write: () => {}, colour: false, interrupts })).toBe(2);
  }
  release();
  expect(kept).toEqual({ run: true, experiment: true, sql: false });
});

test("a mistyped option stops the command before any work, naming the nearest one, without a stack", async () => {
  const result = await runCli(["run", "tiny", "--out", at("never"), "--sede", "1"]);
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toMatch(/unknown option --sede, did you mean --seed\?[\s\S]*remedy: +envwright run --help/);
  expect(result.stderr).not.toMatch(/^ +at /m);
});

describe("solve", () => {
  test("from a pipe, as one JSON document: status, costs and plans under both objectives", async () => {
    const { code, stdout, stderr } = await runCli(["solve", "-", "--json"], { stdin: JSON.stringify(board) });
    expect([code, stderr]).toEqual([0, ""]);
    const document = JSON.parse(stdout);
    // One cell down there is room to pass: 1 + 3 moves, longest 3.
    expect(document).toMatchObject({ status: "solved", sum_of_costs: 4, makespan: 3 });
    expect(document.plans.sum_of_costs).toHaveLength(2);
    expect(document.plans.makespan.flat().every((move: string) => ["UP", "DOWN", "LEFT", "RIGHT", "WAIT"].includes(move))).toBe(true);
  });

  test("options that would change nothing are refused, not passed over: of one board, and of an export's rows", async () => {
    writeFileSync(at("one.json"), JSON.stringify(board));
    const refused = async (...argv: string[]) => {
      const { code, stderr } = await callCli(argv);
      return `${code} ${stderr.split("\n")[0]}`;
    };
    expect(await refused("solve", at("one.json"), "--agents", "7")).toBe("2 error: --agents 7 has no effect here");
    expect(await refused("solve", at("one.png"), "--row", "1")).toBe("2 error: --row 1 has no effect here");
    const to = (target: string, ...options: string[]) =>
      refused("export", "bench-3", "--to", target, "--out", at("rows.jsonl"), ...options);
    expect(await to("prompts", "--system", "x")).toBe("2 error: --system x has no effect here");
    expect(await to("trl", "--split", "test")).toBe("2 error: --split test has no effect here");
    expect(await to("instances", "--rendering", "compact")).toBe("2 error: --rendering compact has no effect here");
  });

  test("a board without a solution is an answer; a board that is none is refused", async () => {
    const narrow = { size: 2, holes: [[1, 0], [1, 1]], agents: board.agents }; // biome-ignore format: one line
    writeFileSync(at("narrow.json"), JSON.stringify(narrow));
    writeFileSync(at("wrong.json"), JSON.stringify({ ...board, holes: [[0, 0]] }));
    const unsolvable = await callCli(["solve", at("narrow.json")]);
    const wrong = await callCli(["solve", at("wrong.json")]);
    expect(unsolvable.code).toBe(0);
    expect(unsolvable.stdout).toMatch(/^unsolvable/);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/start \[0,0\] of agent 0 is a hole/);
  });
});

describe("generate, verify, eval", () => {
  const config = "agents: [2]\nsizes:\n  3: { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0.5 }\n";
  beforeAll(async () => {
    writeFileSync(at("config.yaml"), config);
    const make = (out: string) =>
      callCli(["generate", "--config", at("config.yaml"), "--count", "10", "--seed", "3", "--out", at(out), "--json"]);
    const lines = await make("set.jsonl");
    const parquet = await make("set.parquet");
    expect([lines.code, parquet.code]).toEqual([0, 0]);
    expect(JSON.parse(lines.stdout)).toMatchObject({ count: 10, strata: { 3: { count: 10, realised: { wait_ratio: 0.5 } } } });
    expect(parquet.stdout).toBe(lines.stdout);
  });

  test("completions are judged in order, by id and by line number, in the stable form", async () => {
    const instances = readFileSync(at("set.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line)); // biome-ignore format: one line
    writeFileSync(at("second.json"), JSON.stringify(instances[1]));
    const solved = JSON.parse((await callCli(["solve", at("second.json"), "--json"])).stdout);
    const answer = ["<answer>", ...solved.plans.makespan.map((p: string[], i: number) => `Agent ${i}: ${p.join(", ")}`), "</answer>"].join(
      "\n",
    );
    const completions = [
      { instance: instances[1].id, completion: answer },
      { instance: 2, completion: answer },
      { instance: 1, completion: "no answer here" },
      { instance: instances[0].id, completion: answer, finish_reason: "length" },
    ];
    writeFileSync(at("answers.jsonl"), completions.map((c) => JSON.stringify(c)).join("\n"));
    const { code, stdout } = await callCli(["verify", "--instances", at("set.parquet"), "--completions", at("answers.jsonl"), "--json"]);
    expect(code).toBe(0);
    const { verdicts, ...counts } = JSON.parse(stdout);
    expect(counts).toEqual({ n: 4, valid: 2, codes: { valid: 2, "parse-error": 1, truncated: 1 } });
    expect(verdicts[0]).toMatchObject({
      instance: instances[1].id,
      ok: true,
      code: "valid",
      makespan: instances[1].optimum.makespan,
      optimal: { makespan: true },
    });
    expect(verdicts[0].sum_of_costs).toBeGreaterThanOrEqual(instances[1].optimum.sum_of_costs);
    expect(verdicts.map((v: { instance: unknown }) => v.instance).slice(1, 3)).toEqual([2, 1]);
  });

  test("a completion of an instance that is not in the file is refused by its line", async () => {
    writeFileSync(at("stray.jsonl"), '{"instance": 11, "completion": ""}\n');
    const { code, stderr } = await callCli(["verify", "--instances", at("set.jsonl"), "--completions", at("stray.jsonl")]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/stray.jsonl, line 1: there is no instance 11/);
  });

  test("a file without a row is refused: nothing was judged, and nothing is apart from nothing", async () => {
    writeFileSync(at("empty.jsonl"), "\n");
    for (const command of [
      ["eval", "--policy", "oracle", "--set", at("empty.jsonl")],
      ["audit", at("empty.jsonl"), "--against", at("set.jsonl"), "--fail-on-overlap"],
      ["verify", "--instances", at("set.jsonl"), "--completions", at("empty.jsonl")],
      ["export", at("empty.jsonl"), "--to", "prompts", "--out", at("empty.parquet")],
      ["solve", at("empty.jsonl")],
      ["draw", at("empty.jsonl"), "--out", at("empty.svg")],
    ]) {
      const { code, stderr } = await callCli(command);
      expect([command[0], code, stderr]).toEqual([command[0], 2, expect.stringMatching(/empty\.jsonl holds no (instance|completion)/)]);
    }
  });

  test("a set is replaced only when that is asked for", async () => {
    const before = readFileSync(at("set.jsonl"), "utf8");
    const generate = (seed: string, out: string, ...more: string[]) =>
      callCli(["generate", "--config", at("config.yaml"), "--count", "10", "--seed", seed, "--out", out, ...more]);
    const refused = await generate("4", at("set.jsonl"));
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/set\.jsonl exists[\s\S]*--force/)]);
    expect((await callCli(["export", at("set.jsonl"), "--to", "prompts", "--out", at("set.parquet")])).code).toBe(2);
    expect(readFileSync(at("set.jsonl"), "utf8")).toBe(before);
    expect((await generate("3", at("other.jsonl"))).code).toBe(0);
    expect((await generate("4", at("other.jsonl"), "--force")).code).toBe(0);
    expect(readFileSync(at("other.jsonl"), "utf8")).not.toBe(before);
    const folder = await generate("4", `${dir}/`);
    expect([folder.code, folder.stderr]).toEqual([2, expect.stringMatching(/is a folder[\s\S]*set\.jsonl/)]);
  });

  test("the oracle is valid and optimal on every board, and a kept evaluation can be taken up and compared with", async () => {
    const kept = await callCli(["eval", "--policy", "oracle", "--set", at("set.jsonl"), "--out", at("oracle"), "--json"]);
    expect(JSON.parse(kept.stdout)).toMatchObject({ total: { n: 10, valid: { rate: 1 }, optimal: { rate: 1 } }, failed: 0 });
    const rollouts = readFileSync(at("oracle/rollouts.jsonl"), "utf8");
    writeFileSync(at("oracle/rollouts.jsonl"), rollouts.slice(0, rollouts.length / 2));
    const again = await callCli(["eval", "--resume", at("oracle"), "--json"]);
    const random = await callCli([
      "eval",
      "--policy",
      "random",
      "--set",
      at("set.parquet"),
      "--compare",
      at("oracle"),
      "--format",
      "markdown",
    ]);
    expect(JSON.parse(again.stdout)).toEqual(JSON.parse(kept.stdout));
    expect(readFileSync(at("oracle/rollouts.jsonl"), "utf8")).toBe(rollouts);
    expect(random.stdout).toMatch(/\| all \| 10 \|[\s\S]*paired on 10 instances: valid −/);
  });
});

describe("report", () => {
  const make = async (name: string, valid: number[]): Promise<void> => {
    const history = sampleHistory({ valid, boards: 400, name });
    const run = await RunFolder.create(at(name), { recipe: history.recipe, seed: history.seed });
    await run.writeRecord("run", "base-validation.json", validationReportSchema, history.base!);
    for (const stage of history.stages) {
      await run.writeRecord(stage.index, "config.json", stageConfigSchema, stage.config);
      await run.writeRecord(stage.index, "training.json", trainingSummarySchema, stage.training!);
      await run.writeRecord(stage.index, "validation.json", validationReportSchema, stage.validation!);
    }
    run.close();
  };
  beforeAll(async () => {
    await make("run-a", [0.3, 0.4]);
    await make("run-b", [0.3, 0.5]);
  });

  test("one run as JSON is one document in the stable form", async () => {
    const { code, stdout, stderr } = await callCli(["report", at("run-a"), "--json"]);
    expect([code, stderr]).toEqual([0, ""]);
    const { run, stages } = JSON.parse(stdout);
    expect(run).toMatchObject({ name: "run-a", seed: 1, engineer: "self" });
    expect(stages[0].validation).toMatchObject({ n: 400, valid: { rate: expect.any(Number), stderr: expect.any(Number) } });
    expect(Object.keys(stages[0].validation.by_size)).toEqual(["3", "4", "5", "6", "7"]);
    expect(Object.values(stages[0].validation.codes as Record<string, number>).reduce((a, b) => a + b)).toBe(400);
  });

  test("two runs are compared, and drawn into a figure", async () => {
    const { code, stdout, stderr } = await callCli(["report", at("run-a"), at("run-b"), "--markdown", "--plot", at("figure.png")]);
    expect(code).toBe(0);
    expect(stdout.match(/^## run-/gm)).toHaveLength(2);
    expect(stdout).toMatch(/run-b is above .*run-a: valid \+/);
    expect(stderr).toMatch(/figure: /);
    expect(readFileSync(at("figure.png")).subarray(1, 4).toString()).toBe("PNG");
  });

  test("runs validated on different boards are reported without a comparison, and it is said why", async () => {
    const history = sampleHistory({ valid: [0.3], boards: 100, name: "run-c" });
    const run = await RunFolder.create(at("run-c"), { recipe: history.recipe });
    await run.writeRecord("run", "base-validation.json", validationReportSchema, { ...history.base!, set_sha256: "1".repeat(64) });
    run.close();
    const { code, stdout, stderr } = await callCli(["report", at("run-a"), at("run-c"), "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ runs: [{}, {}], comparisons: [] });
    expect(stderr).toMatch(/not compared: .*different sets/);
  });

  test("a changed record and a folder that is no run are refused with what to do", async () => {
    const path = at("run-b/stages/00/validation.json");
    const none = await callCli(["report", dir]);
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toMatch(/not a run folder[\s\S]*remedy/);
    writeFileSync(path, readFileSync(path, "utf8").replace('"failed": 0', '"failed": 1'));
    const changed = await callCli(["report", at("run-b")]);
    expect(changed.code).toBe(2);
    expect(changed.stderr).toMatch(/validation.json: its content has changed/);
  });
});

test.skipIf(!existsSync("/dev/full"))("a full disk under the output ends the command with one line and no trace", async () => {
  const command = `'${process.execPath}' --import '${TSX}' '${MAIN}' --version > /dev/full; echo "status $?"`;
  const output = await new Promise<{ stdout: string; stderr: string }>((done) =>
    execFile("bash", ["-c", command], (_, stdout, stderr) => done({ stdout, stderr })),
  );
  expect(output.stdout).toBe("status 1\n");
  expect(output.stderr).toMatch(/^error: could not write the output: the disk is full\n {2}remedy:[^\n]*\n$/);
});

test("a reader that closes the pipe early ends the command without an error", async () => {
  const lines = Array.from({ length: 4000 }, () => JSON.stringify(board)).join("\n");
  writeFileSync(at("many.jsonl"), lines);
  writeFileSync(at("many-answers.jsonl"), Array.from({ length: 4000 }, (_, i) => JSON.stringify({ instance: i + 1, completion: "x" })).join("\n")); // biome-ignore format: one line
  const command = `'${process.execPath}' --import '${TSX}' '${MAIN}' verify --instances '${at("many.jsonl")}' --completions '${at("many-answers.jsonl")}' | head -1; echo "status \${PIPESTATUS[0]}"`;
  const output = await new Promise<{ stdout: string; stderr: string }>((done) =>
    execFile("bash", ["-c", command], (_, stdout, stderr) => done({ stdout, stderr })),
  );
  expect(output.stderr).toBe("");
  expect(output.stdout).toMatch(/parse-error[^\n]*\nstatus 0\n$/);
});
