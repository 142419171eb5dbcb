import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventSchema, type RunEvent } from "../../core/index.js";
import { lineOf, progressLine } from "./lines.js";
import { duration, renderLive } from "./live.js";
import { applyEvent, newRunState, type RunState, secondsLeft } from "./run-state.js";
import { openRunView } from "./terminal.js";

/** Recorded from a smoke run of three stages, progress included. */
const events: RunEvent[] = readFileSync(join(import.meta.dirname, "fixtures/smoke-events.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => eventSchema.parse(JSON.parse(line)));

/** The state after the first event for which `when` holds, and that event's time. */
function until(when: (event: RunEvent) => boolean): { state: RunState; now: number } {
  const state = newRunState();
  for (const event of events) {
    applyEvent(state, event);
    if (when(event)) return { state, now: Date.parse(event.time) };
  }
  throw new Error("no such event was recorded");
}

test("in training, the view shows run, stage, bar, step, rates against the base, the last proposal and the time left", () => {
  const { state, now } = until((e) => e.type === "progress" && e.phase === "train" && e.stage === 1 && e.done === 2);
  const text = renderLive(state, now, 120);
  expect(text).toMatch(/^smoke {2}engineer self V6 {2}stage 2\/3 {2}\d+ s elapsed, about \d+ s left$/m);
  expect(text).toMatch(/generate → TRAIN █{12}░{12} 2\/4 → evaluate → diagnose → propose/);
  expect(text).toMatch(/training {4}step 2\/4 {2}reward \d\.\d{3} {2}valid \d+\.\d % {2}without variance/);
  expect(text).toMatch(/validation {2}stage 0: valid \d+\.\d % \([+−]?\d+\.\d\) {2}optimal/);
  expect(text).toMatch(/by size {3}3: \d+\.\d % \([+−]?\d+\.\d\) {2}4: .* 5: /);
  expect(text).toMatch(/proposal {4}after stage 0 by self: accepted/);
});

test("before anything is validated the view invents nothing", () => {
  const { state, now } = until((e) => e.type === "phase-started");
  expect(renderLive(state, now)).not.toMatch(/validation|training {4}|proposal {4}|left/);
});

test("while a model server starts the view says whose, and once it is ready a line says how long that took", () => {
  const { state, now } = until((e) => e.type === "phase-started" && e.phase === "evaluate" && e.stage === 1);
  const tell = (more: object) => {
    const event = eventSchema.parse({ type: "serving", time: new Date(now).toISOString(), stage: 1, ...more });
    applyEvent(state, event);
    return lineOf(event, state);
  };
  expect(tell({ checkpoint: 2, state: "starting" })).toBeUndefined();
  expect(renderLive(state, now)).toContain("> the server of stage 1 is starting");
  expect(tell({ checkpoint: 2, state: "ready", seconds: 75 })).toBe("stage 1: server of its checkpoint is ready after 1 min 15 s");
  expect(renderLive(state, now)).not.toContain("the server of");
  tell({ checkpoint: 0, state: "starting" });
  expect(renderLive(state, now)).toContain("> the server of the base is starting");
  expect(tell({ checkpoint: 0, state: "ready", seconds: 3 })).toBe("stage 1: server of the base is ready after 3 s");
  expect(tell({ checkpoint: 0, state: "stopped" })).toBeUndefined();
});

test("no line is wider than the terminal", () => {
  const { state, now } = until((e) => e.type === "run-finished");
  state.warnings.push("x".repeat(300));
  for (const line of renderLive(state, now, 50).split("\n")) expect(line.length).toBeLessThanOrEqual(50);
});

test("the time left is what is to be done at the pace of what was done", () => {
  const state = newRunState();
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  const apply = (event: Record<string, unknown>) => applyEvent(state, eventSchema.parse(event));
  apply({
    type: "run-started",
    time: at(0),
    name: "t",
    stages: 2,
    steps_per_stage: 10,
    engineer: "self",
    variant: "V6",
    resumed: false,
    pid: 1,
  });
  expect(secondsLeft(state, 0)).toBeUndefined();
  apply({ type: "phase-finished", time: at(0), stage: 0, phase: "evaluate", seconds: 5 });
  apply({ type: "phase-started", time: at(0), stage: 0, phase: "train" });
  apply({ type: "step", time: at(2), stage: 0, step: 0, metrics: {}, seconds: 2 });
  apply({ type: "progress", time: at(2), stage: 0, phase: "train", done: 1, total: 10 });
  // 9 steps of 2 s and an evaluation of 5 s in this stage; 10 steps and an evaluation in the next.
  expect(secondsLeft(state, 2000)).toBe(18 + 5 + 20 + 5);
  apply({ type: "run-finished", time: at(50), seconds: 50 });
  expect(secondsLeft(state, 50_000)).toBeUndefined();
});

test("plain lines tell start, stages, validations with their change, proposals and end, and nothing for each step", () => {
  const state = newRunState();
  const lines = events.flatMap((event) => {
    applyEvent(state, event);
    return lineOf(event, state) ?? [];
  });
  expect(lines[0]).toBe("started smoke: engineer self V6, 3 stages of 4 steps");
  expect(lines.filter((line) => /valid \d+\.\d %, optimal/.test(line))).toHaveLength(4);
  expect(lines.filter((line) => line.includes("points against the base"))).toHaveLength(3);
  expect(lines.filter((line) => line.includes("proposal of self accepted"))).toHaveLength(2);
  expect(lines.at(-1)).toMatch(/^finished in \d+ s$/);
  expect(lines.length).toBeLessThan(events.length / 3);
  const { state: training, now } = until((e) => e.type === "progress" && e.phase === "train" && e.done === 2);
  expect(progressLine(training, now)).toMatch(/^stage 0: step 2\/4, reward \d\.\d{3}, valid .* %, about .* left$/);
});

test("a stream that is no terminal gets lines, a quiet view gets nothing", () => {
  const written: string[] = [];
  const stream = { isTTY: false, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  const quiet = openRunView({ quiet: true, stream });
  for (const event of events) quiet.onEvent(event);
  quiet.close();
  expect(written).toEqual([]);
  const view = openRunView({ quiet: false, stream });
  for (const event of events) view.onEvent(event);
  view.close();
  expect(written.length).toBeGreaterThan(5);
  expect(written.join("")).not.toContain("\u001b");
});

test("durations are told in the units a person would use", () => {
  expect([0.4, 59, 61, 3599, 7260].map(duration)).toEqual(["0 s", "59 s", "1 min 01 s", "59 min 59 s", "2 h 01 min"]);
});
