import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { enginesLack } from "../../loop/index.js";
import { loadRecipe } from "../recipes.js";
import { serverLacks } from "./doctor.js";

test("what an engine's Python lacks is told: itself, or packages; nothing for the embedded engine", async () => {
  const dir = mkdtempSync(join(tmpdir(), "doctor-"));
  const lack = (recipe: string, ...set: string[]) => enginesLack(loadRecipe(recipe, set).recipe);
  const python = (name: string, script: string) => {
    writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return `trainer.python=${join(dir, name)}`;
  };
  try {
    expect(await lack("tiny")).toEqual([]);
    expect(await lack("tiny-trl", python("all", "echo"))).toEqual([]);
    expect((await lack("tiny-trl", python("some", "echo trl envwright")))[0]).toContain("some has no trl and no envwright");
    expect((await lack("tiny-trl", `trainer.python=${join(dir, "none")}`))[0]).toMatch(/none does not run: .*ENOENT/);
    // What is asked of it names the engine of the recipe.
    expect((await lack("paper-verl", python("asked", 'case "$*" in *" verl "*) echo verl;; esac')))[0]).toContain("has no verl");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("what the server of a run's checkpoints lacks is told: its program, or the module that Python is to run", async () => {
  const lack = (...set: string[]) => serverLacks(loadRecipe("paper-verl", set).recipe);
  expect(await serverLacks(loadRecipe("tiny").recipe)).toEqual([]);
  expect(await lack("serving.command=[no-such-vllm, serve]")).toEqual(["there is no no-such-vllm here (serving.command names another)"]);
  expect(await lack("serving.command=[sh]")).toEqual([]);
  expect(await lack(`serving.command=[${process.execPath}]`)).toEqual([]);
  expect(await lack("serving.command=[echo, -m, sglang.launch_server]")).toEqual([
    expect.stringMatching(/^echo has no .* sglang \(serving/),
  ]);
});
