import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { callCli } from "../../test/call-cli.js";
import { instanceSchema, loadBenchmark, mapfFrozenLake, parsePrompt, transformBoard } from "../environments/mapf-frozenlake/index.js";
import { readParquetRows, ScratchFile, writeParquet } from "../store/index.js";

let folder: string;
const at = (name: string): string => join(folder, name);
const lines = (name: string) => readFileSync(at(name), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)); // biome-ignore format: one line
const writeLines = (name: string, rows: unknown[]) => writeFileSync(at(name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "envwright-sets-"));
  writeFileSync(
    at("config.yaml"),
    'agents: [2]\nobjective: makespan\nsizes:\n  "4": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.2 }\n  "5": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0 }\n',
  );
  const made = await callCli(["generate", "--config", at("config.yaml"), "--count", "40", "--seed", "1", "--out", at("boards.jsonl")]);
  expect(made.code).toBe(0);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function parquet(name: string): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for await (const batch of readParquetRows(at(name))) rows.push(...batch);
  return rows;
}

describe("export", () => {
  it("writes verl's columns as nested Parquet; the prompt and the ground truth both are the instance", async () => {
    expect(await callCli(["export", at("boards.jsonl"), "--to", "verl", "--split", "test", "--out", at("verl.parquet")])).toMatchObject({
      code: 0,
    });
    const rows = await parquet("verl.parquet");
    expect(rows).toHaveLength(40);
    const instances = lines("boards.jsonl");
    rows.forEach((row, index) => {
      const { id, hash, size } = instances[index];
      expect(Object.keys(row)).toEqual(["data_source", "prompt", "ability", "reward_model", "extra_info"]);
      expect(row).toMatchObject({
        data_source: "envwright/mapf-frozenlake",
        extra_info: { split: "test", index, id, hash, stratum: String(size), rendering: "chat" },
      });
      const [{ role, content }] = row.prompt as [{ role: string; content: string }];
      const truth = (row.reward_model as { style: string; ground_truth: string }).ground_truth;
      const instance = instanceSchema.parse(JSON.parse(truth));
      expect(role).toBe("user");
      expect(parsePrompt(content, "chat")).toEqual({ size, holes: instance.holes, agents: instance.agents });
      const answer = mapfFrozenLake.demonstrate(instance, "makespan", "chat");
      expect(mapfFrozenLake.verify(instance, answer, "stop", "chat").ok).toBe(true);
    });
  });

  it("writes TRL's conversational prompts, with a system message where asked, alike in JSON lines and Parquet", async () => {
    for (const out of ["trl.parquet", "trl.jsonl"]) {
      expect(
        (await callCli(["export", at("boards.jsonl"), "--to", "trl", "--system", "Short.", "--limit", "7", "--out", at(out)])).code,
      ).toBe(0);
    }
    expect(await parquet("trl.parquet")).toEqual(lines("trl.jsonl"));
    const [first] = lines("trl.jsonl");
    expect(first.prompt.map(({ role }: { role: string }) => role)).toEqual(["system", "user"]);
    expect(JSON.parse(first.instance)).toEqual(lines("boards.jsonl")[0]);
    expect(lines("trl.jsonl")).toHaveLength(7);
    expect(first.rendering).toBe("chat");
  });

  it("writes TRL's compact prompts as plain text, for which no chat template is needed, and says in each row that they are compact", async () => {
    const compact = (to: string, name: string, ...more: string[]) =>
      callCli(["export", at("boards.jsonl"), "--to", to, "--rendering", "compact", "--out", at(name), ...more]);
    expect((await compact("trl", "compact.parquet")).code).toBe(0);
    const rows = await parquet("compact.parquet");
    lines("boards.jsonl").forEach((instance, i) => {
      expect(rows[i]).toMatchObject({ prompt: mapfFrozenLake.prompt(instance, "compact"), rendering: "compact" });
    });
    expect((await compact("verl", "compact-verl.jsonl")).code).toBe(0);
    expect(lines("compact-verl.jsonl")[0].extra_info.rendering).toBe("compact");
    expect((await compact("trl", "refused.jsonl", "--system", "Short.")).stderr).toMatch(/--system Short. has no effect here/);
  });

  it("turns instances into Parquet and back without a difference", async () => {
    await callCli(["export", at("boards.jsonl"), "--out", at("there.parquet")]);
    await callCli(["export", at("there.parquet"), "--out", at("back.jsonl")]);
    expect(readFileSync(at("back.jsonl"), "utf8")).toBe(readFileSync(at("boards.jsonl"), "utf8"));
  });

  it("reads a foreign Parquet file of nested columns and of JSON text under its mapping", async () => {
    const cell = z.array(z.int());
    const schema = z.object({ meta: z.object({ n: z.int(), pits: z.string() }), bots: z.array(z.object({ from: cell, to: cell })) });
    const row = { meta: { n: 3, pits: "[[0, 1]]" }, bots: [{ from: [0, 0], to: [2, 2] }, { from: [2, 0], to: [0, 2] }] }; // biome-ignore format: one row
    await writeParquet(at("nested.parquet"), schema, [row]);
    const map = "size=meta.n,holes=meta.pits,starts=bots.*.from,goals=bots.*.to";
    expect((await callCli(["export", at("nested.parquet"), "--map", map, "--out", at("flat.jsonl")])).code).toBe(0);
    expect(lines("flat.jsonl")[0]).toMatchObject({
      size: 3,
      holes: [[0, 1]],
      agents: [{ start: [0, 0], goal: [2, 2] }, { start: [2, 0], goal: [0, 2] }], // biome-ignore format: one row
    });
    for (const verb of [
      ["export", at("nested.parquet"), "--out", at("no.jsonl")],
      ["solve", at("nested.parquet")],
    ]) {
      const { code, stderr } = await callCli([...verb, "--map", map.replace("from", "form")]);
      expect(code).toBe(2);
      expect(stderr).toContain('nested.parquet, row 1: there is no "form" in "bots.0"');
    }
  });

  it("leaves nothing behind when a row is no board, and names the row", async () => {
    writeLines("bad.jsonl", [
      { m: ["FF", "FF"], s: [[0, 0]], g: [[1, 1]] },
      { m: ["FF", "F?"], s: [[0, 0]], g: [[1, 0]] },
    ]);
    const { code, stderr } = await callCli(["export", at("bad.jsonl"), "--map", "grid=m,starts=s,goals=g", "--out", at("bad.parquet")]);
    expect(code).toBe(2);
    expect(stderr).toContain("bad.jsonl, row 2: cell (1, 1)");
    await expect(parquet("bad.parquet")).rejects.toThrow("no such file");
  });
});

describe("generate", () => {
  it("writes beside the set what it was made from: the config as it was given, before repairs, and the sets that were left out", async () => {
    writeFileSync(at("over.yaml"), 'agents: [2]\nsizes: { "5": { data_ratio: 3, hole_ratio: 0.2, wait_ratio: 1.5 } }\n');
    const made = await callCli(["generate", "--config", at("over.yaml"), "--count", "1", "--seed", "3", "--out", at("one.jsonl"), "--exclude", at("boards.jsonl")]); // biome-ignore format: one line
    expect(made.stdout).toMatch(/^1 instance in [\s\S]*size 5: 1 instance, /);
    const manifest = JSON.parse(readFileSync(at("one.jsonl.manifest.json"), "utf8"));
    expect(manifest).toMatchObject({
      count: 1,
      strata: { "5": { count: 1, requested: { data_ratio: 1, wait_ratio: 1 } } },
      excluded_hashes: 40,
      config: { agents: [2], sizes: { "5": { data_ratio: 3, wait_ratio: 1.5 } } },
      repeats: "refuse",
      exclude: [at("boards.jsonl")],
    });
  });

  it("gives what a large set has to remember a file in the folder that it writes into, and closes that in every case", async () => {
    const streamed = vi.spyOn(mapfFrozenLake, "generateStreamed");
    const close = vi.spyOn(ScratchFile.prototype, "close");
    const generate = (count: string) =>
      callCli(["generate", "--config", at("config.yaml"), "--count", count, "--seed", "1", "--out", at("scratch/a.jsonl")]);
    try {
      expect((await generate("30")).code).toBe(0);
      const { scratch } = streamed.mock.calls[0]![1];
      expect(scratch).toBeInstanceOf(ScratchFile);
      expect(scratch).toMatchObject({ folder: at("scratch"), resident: 1024 * 1024 });
      expect(close).toHaveBeenCalledTimes(1);
      streamed.mockRejectedValueOnce(new Error("half way"));
      rmSync(at("scratch"), { recursive: true });
      expect((await generate("30")).code).not.toBe(0);
      expect(close).toHaveBeenCalledTimes(2);
    } finally {
      streamed.mockRestore();
      close.mockRestore();
    }
  });

  it("refuses more boards than a small class has, and repeats them where that is allowed", async () => {
    writeFileSync(at("tiny.yaml"), 'agents: [2]\nsizes: { "3": { data_ratio: 1, hole_ratio: 0, wait_ratio: 0.5 } }\n');
    const twenty = ["generate", "--config", at("tiny.yaml"), "--count", "20", "--seed", "1", "--out", at("twenty.jsonl"), "--quiet"];
    const { code, stderr } = await callCli(twenty);
    expect(code).toBe(2);
    expect(stderr).toMatch(/there are only 4 up to symmetry.*the set needs 10[\s\S]*--allow-repeats/);
    expect((await callCli([...twenty, "--allow-repeats"])).code).toBe(0);
    const hashes = lines("twenty.jsonl").filter(({ wait_required }) => wait_required).map(({ hash }) => hash); // biome-ignore format: one line
    expect(hashes).toHaveLength(10);
    expect(new Set(hashes).size).toBeLessThanOrEqual(4);
    const { sampling } = JSON.parse(readFileSync(at("twenty.jsonl.manifest.json"), "utf8"));
    expect(sampling.repeated).toBeGreaterThanOrEqual(6);
  });
});

describe("audit", () => {
  const json = async (...argv: string[]) => JSON.parse((await callCli(["audit", "--json", ...argv])).stdout);

  it("finds a board again under a symmetry and another order of agents, and a repeat within a set, by size", async () => {
    const boards = lines("boards.jsonl");
    const [a, b] = [boards.find(({ size }) => size === 4), boards.find(({ size }) => size === 5)];
    const turned = transformBoard(a, 5);
    writeLines("other.jsonl", [
      { id: "t", ...turned, agents: [...turned.agents].reverse() },
      { ...b, id: "b" },
      { ...b, id: "b again" },
    ]);
    expect(await json(at("boards.jsonl"), at("other.jsonl"))).toEqual({
      pairs: 1,
      sets: [
        expect.objectContaining({ count: 40, distinct: 40 }),
        { name: at("other.jsonl"), count: 3, distinct: 2, strata: { "4": { count: 1, distinct: 1 }, "5": { count: 2, distinct: 1 } } },
      ],
      overlaps: [{ sets: [at("boards.jsonl"), at("other.jsonl")], shared: 2, strata: { "4": 1, "5": 1 }, examples: [[a.id, "t"], [b.id, "b"]] }], // biome-ignore format: a report
    });
    expect((await callCli(["audit", at("boards.jsonl"), at("other.jsonl")])).code).toBe(0);
    const failed = await callCli(["audit", at("other.jsonl"), "--against", at("boards.jsonl"), "--fail-on-overlap"]);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("2 boards are shared");
  });

  it("takes a run folder as its stages and evaluation sets, and benchmark sets by name", async () => {
    mkdirSync(at("run/stages/00"), { recursive: true });
    writeFileSync(at("run/run.json"), "{}");
    for (const name of ["validation.parquet", "stages/00/train.parquet"])
      await callCli(["export", at("boards.jsonl"), "--out", join(at("run"), name)]);
    const report = await json(at("run"), "bench-3");
    expect(report.sets.map(({ name, count }: { name: string; count: number }) => [name.replace(at("run"), ""), count])).toEqual([
      [": validation", 40],
      [": stage 00", 40],
      ["bench-3", 1200],
    ]);
    expect(report.overlaps.map(({ shared }: { shared: number }) => shared)).toEqual([40]);
    expect(await json(at("run"), "--against", "bench-3")).toMatchObject({ pairs: 2, overlaps: [] });
    // The same seed gives the same boards, unless the run's are left out.
    const again = ["generate", "--config", at("config.yaml"), "--count", "40", "--seed", "1", "--quiet"];
    await callCli([...again, "--out", at("same.jsonl")]);
    await callCli([...again, "--exclude", at("run"), "--exclude", "bench-3", "--out", at("others.jsonl")]);
    const shared = async (name: string) => (await json(at("run"), "--against", at(name))).overlaps.map((o: { shared: number }) => o.shared);
    expect(await shared("same.jsonl")).toEqual([40, 40]);
    expect(await shared("others.jsonl")).toEqual([]);
  });

  it("with --recompute finds an optimum that is recorded wrongly", async () => {
    const [board] = lines("boards.jsonl");
    expect((await callCli(["audit", at("boards.jsonl"), "--recompute"])).code).toBe(0);
    const { id, size, holes, agents, optimum } = board;
    const silent = { id, size, holes, agents, hash: null, optimum: null, conflict: null, wait_required: null };
    writeLines("partly.jsonl", [silent, { ...silent, optimum: { makespan: optimum.makespan } }]);
    expect((await callCli(["audit", at("partly.jsonl"), "--recompute"])).code).toBe(0);
    writeLines("wrong.jsonl", [{ ...board, optimum: { ...board.optimum, makespan: board.optimum.makespan + 1 } }]);
    const { code, stderr } = await callCli(["audit", at("wrong.jsonl"), "--recompute"]);
    expect([code, stderr.includes(board.id)]).toEqual([1, true]);
  });

  it("with --recompute names file, row and field of what is not as certified, and counts all such rows", async () => {
    const boards = lines("boards.jsonl");
    const makespan = boards[2].optimum.makespan;
    const wrong = (board: (typeof boards)[number]) => ({ ...board, optimum: { ...board.optimum, makespan: board.optimum.makespan + 1 } });
    writeLines("third.jsonl", [boards[0], boards[1], wrong(boards[2]), boards[3]]);
    const third = await callCli(["audit", at("third.jsonl"), "--recompute"]);
    const fault = `third.jsonl, row 3: instance ${boards[2].id}: optimum.makespan is ${makespan + 1}, certified ${makespan}\n`;
    expect([third.code, third.stdout.includes(`1 row is not as certified:\n  ${at(fault)}`), third.stderr.includes(fault)]).toEqual([1, true, true]); // biome-ignore format: one line
    // A flag that contradicts a right optimum is counted like any other fault, and the shared boards are told of all the same.
    const contradicting = { ...boards[4], conflict: !boards[4].conflict };
    writeLines("many.jsonl", [contradicting, ...boards.slice(5, 12).map(wrong)]);
    const many = await callCli(["audit", at("many.jsonl"), at("boards.jsonl"), "--recompute", "--json", "--fail-on-overlap"]);
    expect([many.code, many.stderr.includes("8 boards are shared\n"), many.stderr.includes("8 rows are not as certified")]).toEqual([1, true, true]); // biome-ignore format: one line
    const { recomputed, overlaps } = JSON.parse(many.stdout);
    expect(recomputed).toMatchObject({ rows: 48, faulty: 8 });
    expect(overlaps).toHaveLength(1);
    expect(recomputed.examples).toHaveLength(5);
    const { id, conflict } = boards[4];
    expect(recomputed.examples[0]).toEqual({ set: at("many.jsonl"), row: 1, id, fields: [{ field: "conflict", recorded: !conflict, certified: conflict }] }); // biome-ignore format: one line
  });

  it("takes boards that have no solution like others; --recompute counts them as faults, export names the row", async () => {
    const unsolvable = { size: 2, holes: [[0, 1]], agents: [{ start: [0, 0], goal: [1, 1] }, { start: [1, 1], goal: [0, 0] }] }; // biome-ignore format: one row
    const [board] = lines("boards.jsonl");
    writeLines("unsolvable.jsonl", [board, unsolvable]);
    writeLines("turned.jsonl", [{ ...unsolvable, holes: [[1, 0]] }]);
    const report = await json(at("unsolvable.jsonl"), at("turned.jsonl"));
    expect(report.overlaps).toMatchObject([{ shared: 1, strata: { "2": 1 } }]);
    const told = await callCli(["audit", at("unsolvable.jsonl"), at("turned.jsonl")]);
    expect(told).toMatchObject({ code: 0, stderr: "" });
    expect(told.stdout).toMatch(
      /unsolvable.jsonl: 2 instances, 0 of them repeat another\n\S+turned.jsonl: 1 instance\n.* share 1 board \(/,
    );
    const again = await callCli(["audit", at("unsolvable.jsonl"), "--recompute"]);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/1 row is not as certified: \S+unsolvable.jsonl, row 2: .*the board has no solution/);
    const out = await callCli(["export", at("unsolvable.jsonl"), "--out", at("solved.jsonl")]);
    expect(out.code).toBe(2);
    expect(out.stderr).toMatch(/unsolvable.jsonl, row 2: .*the board has no solution/);
    writeLines("hash.jsonl", [board, { ...unsolvable, hash: board.hash }]);
    writeLines("malformed.jsonl", [board, { ...unsolvable, size: 1 }]);
    expect(await callCli(["audit", at("hash.jsonl")])).toMatchObject({ code: 2, stderr: expect.stringContaining("hash.jsonl, row 2: instance: hash is") }); // biome-ignore format: one line
    expect(await callCli(["audit", at("malformed.jsonl")])).toMatchObject({ code: 2, stderr: expect.stringContaining('malformed.jsonl, row 2: instance: "size"') }); // biome-ignore format: one line
  });

  it("says of a set of one's own under a mapping that it belongs behind --against, and of a foreign one that the path is wrong", async () => {
    const ours = lines("boards.jsonl").slice(0, 2);
    writeLines("ours.jsonl", ours);
    writeLines("theirs.jsonl", ours.map(({ size, holes, agents }) => ({ n: size, pits: holes, who: agents }))); // biome-ignore format: one line
    const mapped = ["--map", "size=n,holes=pits,agents=who"];
    const beside = await callCli(["audit", at("theirs.jsonl"), at("ours.jsonl"), ...mapped]);
    expect(beside.code).toBe(2);
    expect(beside.stderr).toMatch(/ours.jsonl, row 1: there is no "n" .*needs no mapping[\s\S]*remedy: .*this one behind --against/);
    const against = await callCli(["audit", at("theirs.jsonl"), "--against", at("ours.jsonl"), ...mapped]);
    expect(against).toMatchObject({ code: 0, stdout: expect.stringContaining("share 2 boards") });
    const wrong = await callCli(["audit", at("theirs.jsonl"), "--map", "size=m,holes=pits,agents=who"]);
    expect(wrong.stderr).toContain("remedy:   correct the path in the mapping");
    expect((await callCli(["audit", "--help"])).stdout).toContain("for every set but those of --against");
  });

  it("says that a folder is one, and that a name is neither a file nor a benchmark set", async () => {
    mkdirSync(at("plain"), { recursive: true });
    const told = async (...argv: string[]) => {
      const { code, stderr } = await callCli(argv);
      expect(code).toBe(2);
      return stderr;
    };
    const generate = ["generate", "--config", at("config.yaml"), "--count", "2", "--seed", "1", "--out", at("never.jsonl")];
    for (const argv of [[...generate, "--exclude"], ["audit"]]) {
      expect(await told(...argv, at("plain"))).toMatch(/plain is a folder, but no run's: it has no run.json[\s\S]*or a run folder/);
      expect(await told(...argv, at("nowhere"))).toMatch(/nowhere: no such file, and no benchmark set\n/);
      expect(await told(...argv, "bench3")).toContain('bench3: no such file, and no benchmark set; did you mean "bench-3"?');
    }
    expect(await told("export", at("plain"), "--out", at("never.jsonl"))).toMatch(/plain is a folder\n/);
  });
});

describe("solve", () => {
  it("reads MovingAI's pair and draws the plan step by step; --steps draws less", async () => {
    writeFileSync(at("room.map"), "type octile\nheight 2\nwidth 3\nmap\n...\n.@.\n");
    writeFileSync(at("room.scen"), "version 1\n0\troom.map\t3\t2\t0\t1\t2\t0\t3\n0\troom.map\t3\t2\t1\t0\t2\t1\t2\n");
    const { stdout, code } = await callCli(["solve", at("room.map"), at("room.scen"), "--agents", "2"]);
    expect(code).toBe(0);
    expect(stdout).toContain("step 3");
    expect(stdout).toContain("# # #");
    // One plan is optimal in both: it is drawn once, under both.
    expect(stdout).toMatch(/^makespan 3 \(certified optimum\)\nsum of costs \d+ \(certified optimum\)\n/);
    expect(stdout.match(/step 3/g)).toHaveLength(1);
    const short = await callCli(["solve", at("room.map"), at("room.scen"), "--steps", "1"]);
    expect(short.stdout).toContain("step 1");
    expect(short.stdout).not.toContain("step 2");
  });

  it("solves a row of a set, and of a foreign set under its mapping", async () => {
    const board = lines("boards.jsonl")[2];
    const ours = JSON.parse((await callCli(["solve", at("boards.jsonl"), "--row", "3", "--json"])).stdout);
    expect(ours).toMatchObject({ status: "solved", makespan: board.optimum.makespan, sum_of_costs: board.optimum.sum_of_costs });
    writeLines("far.jsonl", [{ task: { n: board.size, pits: board.holes, who: board.agents } }]);
    const far = await callCli(["solve", at("far.jsonl"), "--map", "size=task.n,holes=task.pits,agents=task.who", "--json"]);
    expect(JSON.parse(far.stdout)).toEqual(ours);
    expect((await callCli(["solve", at("boards.jsonl"), "--row", "41"])).stderr).toContain("has 40 rows");
  });

  it("takes a benchmark set by name, and a .json that holds a list, as sets", async () => {
    const [, , , , fifth] = loadBenchmark("bench-3");
    const { stdout, stderr } = await callCli(["solve", "bench-3", "--row", "5", "--json"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({ makespan: fifth!.optimum.makespan, sum_of_costs: fifth!.optimum.sum_of_costs });
    expect((await callCli(["solve", "bench-3", "--row", "1201"])).stderr).toContain("bench-3 has 1200 rows");
    expect((await callCli(["solve", "bench-33"])).stderr).toMatch(/bench-33.* did you mean "bench-3"\?/);
    expect((await callCli(["solve", "bench-3", "--map", "grid=g"])).stderr).toContain("--map grid=g has no effect here");
    const boards = lines("boards.jsonl");
    writeFileSync(at("list.json"), JSON.stringify(boards));
    for (const [row, board] of [
      [[], boards[0]],
      [["--row", "2"], boards[1]],
    ] as const)
      expect(JSON.parse((await callCli(["solve", at("list.json"), ...row, "--json"])).stdout).makespan).toBe(board.optimum.makespan);
  });

  it("tells what a file records of a board and is not so, and solves it all the same", async () => {
    const plain = { size: 2, holes: [], agents: [{ start: [0, 0], goal: [1, 1] }] };
    const optimum = { sum_of_costs: 2, makespan: 2, sum_of_shortest: 2 };
    const told = async (record: object, ...options: string[]) => {
      writeLines("claims.jsonl", [record]);
      const { code, stderr, stdout } = await callCli(["solve", at("claims.jsonl"), "--json", ...options]);
      expect([code, JSON.parse(stdout).plans]).toEqual([0, expect.anything()]);
      return stderr
        .replaceAll(`${at("claims.jsonl")}, row 1: `, "")
        .trimEnd()
        .split("\n");
    };
    expect(await told({ ...plain, optimum, conflict: false, wait_required: false })).toEqual([""]);
    expect(await told({ ...plain, optimum: { ...optimum, sum_of_costs: 3 } })).toEqual([
      "optimum.sum_of_costs is recorded as 3, but it is 2",
    ]);
    expect(await told({ ...plain, optimum: { makespan: 4 } }, "--objective", "sum-of-costs")).toEqual([
      "optimum.makespan is recorded as 4, but it is 2",
    ]);
    expect(await told({ ...plain, hash: "3", conflict: true, wait_required: true })).toEqual([
      expect.stringMatching(/^hash is recorded as "3", but it is "2[0-9a-f]+"$/),
      "conflict is recorded as true, but it is false",
      "wait_required is recorded as true, but it is false",
    ]);
    // Whatever stands beside the board, the board is solved; null says nothing.
    expect(await told({ ...plain, id: 7, seed: 42, hash: null, optimum: null, conflict: null })).toEqual([""]);
    expect(await told({ ...plain, optimum: { cost: 4 } })).toEqual(["optimum.cost is recorded as 4, and nothing of that kind is known"]);
    expect(await told({ ...plain, optimum: 7 })).toEqual(["optimum is recorded as 7, and nothing of that kind is known"]);
    const narrow = { ...plain, holes: [[0, 1], [1, 0]], optimum, conflict: false }; // biome-ignore format: one line
    expect(await told({ ...narrow, hash: "3" })).toEqual([expect.stringMatching(/^hash is/), expect.stringMatching(/no solution$/)]);
    expect(await told(narrow)).toEqual([
      "recorded: optimum.sum_of_costs, optimum.makespan, optimum.sum_of_shortest, conflict; but the board has no solution",
    ]);
    const waiting = lines("boards.jsonl").find(({ wait_required }) => wait_required);
    expect(await told({ ...waiting, wait_required: false })).toEqual(["wait_required is recorded as false, but it is true"]);
  });

  it("refuses an unknown key in a board, and tells of columns of a set that it passes over", async () => {
    const plain = { size: 2, agents: [{ start: [0, 0], goal: [1, 1] }] };
    writeFileSync(at("typo.json"), JSON.stringify({ ...plain, hole: [] }));
    const typo = await callCli(["solve", at("typo.json")]);
    expect([typo.code, typo.stderr]).toEqual([2, expect.stringMatching(/unknown key "hole", did you mean "holes"\?; "holes" is missing/)]);
    writeLines("columns.jsonl", [{ ...plain, holes: [], split: "test", level: 3 }]);
    const columns = await callCli(["solve", at("columns.jsonl")]);
    expect([columns.code, columns.stderr]).toEqual([
      0,
      `${at("columns.jsonl")}, row 1: passed over, since a board has no such field: split, level\n`,
    ]);
  });

  it("says of files that do not go together, of options beside them and of a folder what is wrong and what to name", async () => {
    writeFileSync(at("bare.map"), "type octile\nheight 2\nwidth 2\nmap\n..\n..\n");
    writeFileSync(at("bare.scen"), "version 1\n");
    const said = async (...argv: string[]) => {
      const { code, stderr } = await callCli(["solve", ...argv]);
      return `${code} ${stderr.replaceAll(`${folder}/`, "")}`;
    };
    expect(await said(at("bare.map"), at("bare.scen"))).toMatch(/^2 .*bare\.scen has 0 agents[\s\S]*remedy: +name a scenario with a line/);
    expect(await said(at("bare.map"), at("bare.scen"), "--map", "grid=g")).toMatch(
      /^2 .*--map grid=g has no effect here[\s\S]*leave --map out/,
    );
    expect(await said(at("bare.map"))).toMatch(/^2 .*bare\.map: a map has no agents of its own[\s\S]*name the \.scen as well/);
    for (const argv of [[at("bare.scen")], [at("bare.scen"), at("bare.map"), "--agents", "1"], [at("boards.json"), at("bare.scen")]])
      expect(await said(...argv)).toMatch(/^2 .*: this is no \.map, and a scenario belongs to one[\s\S]*name the \.map first/);
    expect(await said(folder)).toMatch(/^2 .*: a folder, not a file/);
    writeFileSync(at("single.json"), JSON.stringify(lines("boards.jsonl")[0]));
    expect(await said(at("single.json"), "--row", "2")).toMatch(/^2 .*single\.json has 1 row/);
  });

  it("gives the nodes that were spent and the budget, also where it ended first", async () => {
    const hard = lines("boards.jsonl").find(({ wait_required }) => wait_required);
    writeLines("hard.jsonl", [{ ...hard, optimum: { ...hard.optimum, makespan: 99 } }]);
    const { code, stdout, stderr } = await callCli(["solve", at("hard.jsonl"), "--budget", "1", "--json"]);
    const document = JSON.parse(stdout);
    const unchecked = "optimum.makespan, optimum.sum_of_costs, conflict, wait_required";
    expect([code, stderr]).toEqual([0, `${at("hard.jsonl")}, row 1: not checked within the budget: ${unchecked}\n`]);
    expect(document).toEqual({ status: "budget-exhausted", plans: {}, nodes: expect.any(Number), budget: 1 });
    expect(document.nodes).toBeGreaterThan(1);
    expect((await callCli(["solve", at("hard.jsonl"), "--budget", "1"])).stdout).toBe(
      `budget-exhausted: ${document.nodes} nodes searched with a budget of 1; --budget allows more\n`,
    );
    expect(JSON.parse((await callCli(["solve", at("hard.jsonl"), "--json"])).stdout)).toMatchObject({
      status: "solved",
      budget: 20_000_000,
    });
  });
});

describe("verify", () => {
  it("says of a line that is no completion, and of a board that is none, what was expected", async () => {
    writeLines("answerless.jsonl", [{ instance: 1, answer: "x" }]);
    const lineOf = async (...argv: string[]) => (await callCli(argv)).stderr;
    expect(await lineOf("verify", "--instances", at("boards.jsonl"), "--completions", at("answerless.jsonl"))).toMatch(
      /line 1: "completion".*\n {2}expected: \{"instance": id or line number/,
    );
    writeFileSync(at("drowned.json"), JSON.stringify({ size: 2, holes: [[0, 0]], agents: [{ start: [0, 0], goal: [1, 1] }] }));
    expect(await lineOf("solve", at("drowned.json"))).toMatch(/start \[0,0\] of agent 0 is a hole.*\n {2}expected: a board \{size, holes/);
  });

  it("judges completions against a foreign set under its mapping", async () => {
    writeLines("foreign.jsonl", [{ grid: ["FF", "FH"], from: [[0, 0]], to: [[0, 1]] }]);
    writeLines(
      "answers.jsonl",
      ["RIGHT", "DOWN, RIGHT"].map((moves) => ({ instance: 1, completion: `<answer>\nAgent 0: ${moves}\n</answer>` })),
    );
    const map = "grid=grid,starts=from,goals=to";
    const { stdout } = await callCli([
      "verify",
      "--instances",
      at("foreign.jsonl"),
      "--completions",
      at("answers.jsonl"),
      "--map",
      map,
      "--json",
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ n: 2, valid: 1, codes: { valid: 1, hole: 1 } });
  });
});

describe("eval", () => {
  it("evaluates on a foreign set under its mapping, which the folder keeps", async () => {
    writeLines("elsewhere.jsonl", [{ grid: ["FF", "FH"], from: [[0, 0]], to: [[0, 1]] }]);
    const map = "grid=grid,starts=from,goals=to";
    const set = ["--policy", "oracle", "--set", at("elsewhere.jsonl")];
    const { stdout } = await callCli(["eval", ...set, "--map", map, "--out", at("evaluated"), "--json", "--quiet"]);
    expect(JSON.parse(stdout)).toMatchObject({ set: at("elsewhere.jsonl") });
    const again = await callCli(["eval", at("evaluated"), "--json", "--quiet"]);
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout).total).toEqual(JSON.parse(stdout).total);
  });
});
