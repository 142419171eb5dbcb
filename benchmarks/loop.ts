/**
 * Where the time of the closed loop goes: a run of a recipe in a temporary folder, by phase, and what is left beside training and evaluation, which
 * are the engine's: boards, files, checksums, reports, proposals. For how fast the engine is beside PyTorch see trainer.ts.
 *
 *     npm run bench:loop -- [--recipe tiny] [--stages 3] [--workers 0]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { loadRecipe } from "../src/cli/recipes.js";
import { PHASES } from "../src/core/index.js";
import { runLoop } from "../src/loop/index.js";

const { values } = parseArgs({
  options: {
    recipe: { type: "string", default: "tiny" },
    stages: { type: "string", default: "3" },
    workers: { type: "string", default: "0" },
  },
});

const { recipe, dir } = loadRecipe(values.recipe, [`stages=${values.stages}`]);
const scratch = mkdtempSync(join(tmpdir(), "bench-loop-"));
const seconds = new Map<string, number>(PHASES.map((phase) => [phase, 0]));
let steps = 0;
try {
  const begin = performance.now();
  await runLoop({
    recipe,
    recipeDir: dir,
    out: join(scratch, "run"),
    workers: Number(values.workers),
    onEvent: (event) => {
      if (event.type === "phase-finished") seconds.set(event.phase, seconds.get(event.phase)! + event.seconds);
      if (event.type === "step") steps++;
    },
  });
  const total = (performance.now() - begin) / 1000;
  const share = (part: number) => `${part.toFixed(2).padStart(8)} s ${((100 * part) / total).toFixed(1).padStart(5)} %`;
  for (const [phase, part] of seconds) process.stdout.write(`${phase.padEnd(10)}${share(part)}\n`);
  const phases = [...seconds.values()].reduce((a, b) => a + b, 0);
  process.stdout.write(`${"between".padEnd(10)}${share(total - phases)}\n${"total".padEnd(10)}${share(total)}\n`);
  const engine = seconds.get("train")! + seconds.get("evaluate")!;
  process.stdout.write(
    `${recipe.name}, ${recipe.stages} stages, ${steps} steps: all that is not training or evaluation is ${((100 * (total - engine)) / total).toFixed(1)} % of the run\n`,
  );
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
