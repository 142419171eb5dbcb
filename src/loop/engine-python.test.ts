import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError, InterruptedError, trlTrainerSchema, verlTrainerSchema } from "../core/index.js";
import { checkEngine, enginesLack, modulesMissing, pathOf } from "./engine-python.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-engine-python-"));
const at = (name: string) => join(dir, name);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A program in a folder of its own, which says what is given. */
function program(folder: string, name: string, script: string): string {
  mkdirSync(at(folder), { recursive: true });
  writeFileSync(at(`${folder}/${name}`), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return at(`${folder}/${name}`);
}
const trl = (over: object) => ({ trainer: trlTrainerSchema.parse({ kind: "trl", ...over }) });
const without = program("without", "python", "echo trl envwright");

test("an engine's Python that lacks it is refused, with what to install and the option that names another", async () => {
  const error = (await checkEngine(trl({ python: without })).catch((e: unknown) => e)) as ConfigError;
  expect(error).toBeInstanceOf(ConfigError);
  expect(error.message).toBe(`${without} has no trl and no envwright (trainer.python names another)`);
  expect(error.value).toBe(without);
  expect(error.expected).toBe("a Python with trl and this project's package");
  expect(error.remedy).toMatch(/^\S+without\/python -m pip install '\/.*python\[trl\]', or name a Python .* --set trainer.python=PATH$/);
  await expect(checkEngine(trl({ python: at("none") }))).rejects.toThrow(/none does not run: .*ENOENT/);
  await checkEngine(trl({ python: program("with", "python", "echo") }));
});

test("it is asked with the engine's own variables", async () => {
  const told = program("told", "python", 'test "$PLACE" = there || echo trl');
  expect(await enginesLack(trl({ python: told }))).toHaveLength(1);
  expect(await enginesLack(trl({ python: told, environment: { PLACE: "there" } }))).toEqual([]);
});

const python3 = pathOf("python3");
test.skipIf(python3 === undefined)("a folder where the run is started is no package (skipped where there is no python3)", async () => {
  // `recipes` is a folder here, and the engine is started elsewhere.
  expect(await modulesMissing(python3!, ["json", "recipes"], "option")).toEqual([`${python3} has no recipes (option names another)`]);
});

test("the Python of a Ray cluster is not asked: it is on other machines", async () => {
  const verl = (over: object) => ({ trainer: verlTrainerSchema.parse({ kind: "verl", python: without, ...over }) });
  expect(await enginesLack(verl({}))).toHaveLength(1);
  expect(await enginesLack(verl({ ray: "http://head:8265" }))).toEqual([]);
});

test("a launcher has to be there; beside the engine's Python it means that Python, elsewhere one that is not known here", async () => {
  const python = program("launched", "python", "echo trl");
  expect(await enginesLack(trl({ python, launch: ["no-such-launcher"] }))).toEqual([
    `there is no no-such-launcher here, nor beside ${python} (trainer.launch names another)`,
  ]);
  program("launched", "accelerate", "");
  expect(await enginesLack(trl({ python, launch: ["accelerate", "launch"] }))).toHaveLength(1);
  expect(await enginesLack(trl({ python, launch: [program("other", "accelerate", "")] }))).toEqual([]);
});

test("names in grpo_config that this TRL does not have are told before the run", async () => {
  const python = program("names", "python", 'case "$2" in *GRPOConfig*) echo noise; echo use_vlm;; *) echo;; esac');
  expect(await enginesLack(trl({ python }))).toEqual([]);
  expect(await enginesLack(trl({ python, grpo_config: { use_vlm: true } }))).toEqual([
    `trainer.grpo_config: the GRPOConfig of ${python} has no use_vlm`,
  ]);
  const noisy = program("noisy", "python", 'case "$2" in *GRPOConfig*) echo noise; echo;; *) echo;; esac');
  expect(await enginesLack(trl({ python: noisy, grpo_config: { use_vllm: true } }))).toEqual([]);
});

test("a launcher and a Python on the engine's own PATH are found there", async () => {
  program("bin", "accelerate", "echo");
  program("bin", "python9", "echo");
  const environment = { PATH: `${at("bin")}:${process.env.PATH}` };
  expect(await enginesLack(trl({ python: "python9", launch: ["accelerate", "launch"] }))).toEqual([
    "there is no accelerate here, nor beside python9 (trainer.launch names another)",
  ]);
  expect(await enginesLack(trl({ python: "python9", launch: ["accelerate", "launch"], environment }))).toEqual([]);
});

test("no pip line is shown for a Python that is not there, and a Python that says nothing is waited for no longer than one wishes", async () => {
  await expect(checkEngine(trl({ python: at("none") }))).rejects.toMatchObject({ remedy: expect.stringMatching(/^name a Python/) });
  const controller = new AbortController();
  const asked = checkEngine(trl({ python: program("slow", "python", "exec sleep 60") }), controller.signal);
  controller.abort();
  await expect(asked).rejects.toBeInstanceOf(InterruptedError);
});
