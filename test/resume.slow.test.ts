/** A run that is killed, at any point, and resumed has the bytes of one that was not. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { folderBytes } from "./folder-bytes.js";

const ROOT = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "envwright-resume-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function envwright(...args: string[]): ChildProcess {
  return spawn(process.execPath, ["--import", "tsx", join(ROOT, "src/cli/main.ts"), ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function finished(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  let stderr = "";
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdout?.resume();
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stderr })));
}

/** Kills the child as soon as its event log holds `marker`, and waits until it is gone. A child that ends before that fails the test. */
async function killAt(child: ChildProcess, dir: string, marker: RegExp): Promise<void> {
  const gone = finished(child);
  let over = false;
  void gone.then(() => {
    over = true;
  });
  const log = join(dir, "events.jsonl");
  while (!over) {
    if (existsSync(log) && marker.test(readFileSync(log, "utf8"))) {
      child.kill("SIGKILL");
      await gone;
      return;
    }
    await new Promise((r) => setTimeout(r, 10));
  }
  throw new Error(`the run ended before its events held ${marker}: ${(await gone).stderr}`);
}

describe("resuming a run", () => {
  const whole = join(scratch, "whole");
  let reference: Record<string, string>;

  beforeAll(async () => {
    const { code, stderr } = await finished(envwright("run", "smoke", "--out", whole, "--json"));
    expect(code, stderr).toBe(0);
    reference = folderBytes(whole);
  });

  const points: [string, RegExp][] = [
    ["while the validation set is made", /"phase":"generate"/],
    ["while the base is evaluated", /"phase":"evaluate"/],
    ["in the middle of the first training", /"type":"step"(.|\n)*"type":"step"/],
    ["between training and evaluation", /"type":"phase-finished"[^\n]*"phase":"train"|"phase":"train"[^\n]*"type":"phase-finished"/],
    ["while the engineer proposes", /"phase":"propose"/],
    ["in the middle of the second training", /"stage":1[^\n]*"type":"step"|"type":"step"[^\n]*"stage":1/],
  ];
  for (const [name, marker] of points) {
    it(`after a kill ${name} gives the bytes of an uninterrupted run`, async () => {
      const dir = join(scratch, name.replaceAll(" ", "-"));
      await killAt(envwright("run", "smoke", "--out", dir, "--json"), dir, marker);
      const { code, stderr } = await finished(envwright("run", "--resume", dir, "--json"));
      expect(code, stderr).toBe(0);
      expect(folderBytes(dir)).toEqual(reference);
    });
  }

  it("gives the same bytes with one engine worker as with three", async () => {
    const one = join(scratch, "one-worker");
    const three = join(scratch, "three-workers");
    for (const [dir, workers] of [
      [one, 1],
      [three, 3],
    ] as const) {
      const { code, stderr } = await finished(envwright("run", "smoke", "--out", dir, "--set", `workers=${workers}`, "--json"));
      expect(code, stderr).toBe(0);
    }
    // run.json names the number of workers.
    expect(folderBytes(one, ["run.json"])).toEqual(folderBytes(three, ["run.json"]));
  });

  it("after a kill where it returned to the best checkpoint gives the bytes of an uninterrupted run", async () => {
    // At this learning rate the first stage unlearns everything.
    const line = ["smoke", "--set", "trainer.grpo.optimiser.lr=0.5", "--set", "engineer.guardrails.rollback=true", "--json"];
    const [one, other] = [join(scratch, "returned"), join(scratch, "returned-and-killed")];
    const { code, stderr } = await finished(envwright("run", ...line, "--out", one));
    expect(code, stderr).toBe(0);
    expect(readFileSync(join(one, "stages/01/config.json"), "utf8")).toMatch(/"from_checkpoint": 0,(.|\n)*"source": "rollback"/);
    await killAt(envwright("run", ...line, "--out", other), other, /returning to checkpoint 0/);
    const resumed = await finished(envwright("run", "--resume", other, "--json"));
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(folderBytes(other)).toEqual(folderBytes(one));
  });

  it("after a kill between the last evaluation and its diagnosis has the bytes of an uninterrupted run, held-out sets or none", async () => {
    const dir = join(scratch, "undiagnosed");
    const { code, stderr } = await finished(envwright("run", "smoke", "--set", "held_out.count=0", "--out", dir, "--json"));
    expect(code, stderr).toBe(0);
    const uninterrupted = folderBytes(dir);
    // What such a kill leaves: neither the record nor its line in the manifest.
    const [record, manifest] = [join(dir, "stages/01/failures.json"), join(dir, "stages/01/manifest.json")];
    const { "failures.json": dropped, ...rest } = JSON.parse(readFileSync(manifest, "utf8")).files;
    expect(dropped).toBeDefined();
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), files: rest }));
    rmSync(record);
    const resumed = await finished(envwright("run", "--resume", dir, "--json"));
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(folderBytes(dir)).toEqual(uninterrupted);
  });

  it("leaves a finished run as it is", async () => {
    const { code } = await finished(envwright("run", "--resume", whole, "--json"));
    expect(code).toBe(0);
    expect(folderBytes(whole)).toEqual(reference);
  });
});
