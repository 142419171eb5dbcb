import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { InputError, InterruptedError, type NewEvent } from "../core/index.js";
import type { RunFolder } from "../store/index.js";
import { approveHuman, HUMAN_FILE, humanDesk } from "./human-desk.js";

let dir: string;
let path: string;
let events: NewEvent[];
const folder = () => ({ path: (_: unknown, name: string) => join(dir, name) }) as unknown as RunFolder;
const desk = () => humanDesk({ folder: folder(), stage: 3, events: { emit: (event) => events.push(event) }, everyMs: 5 });
const text = "config: { a: 1 }\nstatus: waiting\n";
const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((r) => setTimeout(r, 2));
};
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "envwright-desk-"));
  path = join(dir, HUMAN_FILE);
  events = [];
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it("writes the question, tells where it lies, and takes the file once it is approved", async () => {
  const asked = desk().ask({ text });
  await until(() => events.length > 0);
  expect(readFileSync(path, "utf8")).toBe(text);
  expect(events).toEqual([{ type: "human-waiting", stage: 3, path }]);
  writeFileSync(path, "config: { a: 2 }\nstatus: approved\n");
  expect(await asked).toBe("config: { a: 2 }\nstatus: approved\n");
  expect(events[1]).toMatchObject({ type: "human-answered", stage: 3 });
});

it("does not take a file that is still being written, and says so of one that stays broken", async () => {
  const asked = desk().ask({ text });
  await until(() => events.length > 0);
  writeFileSync(path, "config: { a: 2\nstatus: approved\n");
  await until(() => events.some((e) => e.type === "warning"));
  writeFileSync(path, "config: { a: 2 }\nstatus: approved\n");
  expect(await asked).toContain("a: 2");
  expect(events.filter((e) => e.type === "warning")).toHaveLength(1);
});

it("stops at an interruption, leaves the file, and takes an answer that was given in between", async () => {
  const controller = new AbortController();
  const asked = desk().ask({ text }, controller.signal);
  await until(() => events.length > 0);
  writeFileSync(path, "config: { a: 5 }\nstatus: waiting\n");
  controller.abort();
  await expect(asked).rejects.toThrow(InterruptedError);
  await approveHuman(folder(), 3);
  expect(await desk().ask({ text })).toBe("config: { a: 5 }\nstatus: approved\n");
});

it("puts a refused answer back to waiting with the reason, keeping what was written", async () => {
  await approveHuman(folder(), 3).catch((error) => expect(error).toBeInstanceOf(InputError));
  writeFileSync(path, "config: { b: 1 }\nstatus: approved\n");
  const asked = desk().ask({ text, refusal: "unknown size b" });
  await until(() => events.length > 0);
  expect(readFileSync(path, "utf8")).toBe("# REFUSED: unknown size b\nconfig: { b: 1 }\nstatus: waiting\n");
  expect(events[0]).toMatchObject({ type: "human-waiting", refusal: "unknown size b" });
  await approveHuman(folder(), 3, "config: { a: 3 }\nstatus: waiting\n");
  expect(await asked).toBe("config: { a: 3 }\nstatus: approved\n");
});

it("asks anew when the file is deleted", async () => {
  const asked = desk().ask({ text });
  await until(() => events.length > 0);
  rmSync(path);
  await until(() => {
    try {
      return readFileSync(path, "utf8") === text;
    } catch {
      return false;
    }
  });
  await approveHuman(folder(), 3);
  expect(await asked).toContain("approved");
});
