import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadRecipe } from "../recipes.js";
import { enginesLack } from "./doctor.js";

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
    expect((await lack("paper-verl", python("asked", 'case "$2" in *\'"verl"\'*) echo verl;; esac')))[0]).toContain("has no verl");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
