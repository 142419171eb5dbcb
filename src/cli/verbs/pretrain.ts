/** `envwright pretrain`: the recipe's `pretrain` section → a base checkpoint, trained on the solver's and the rule engineer's answers. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { InputError, type Metrics } from "../../core/index.js";
import { pretrain } from "../../loop/index.js";
import { defineVerb } from "../define-verb.js";
import { loadRecipe } from "../recipes.js";
import { openProgress } from "../view/progress.js";

export default defineVerb({
  name: "pretrain",
  description: "Train a base checkpoint on demonstrations",
  options: {
    recipe: { type: "positional", hint: "RECIPE", required: true, description: "Name of a shipped recipe (tiny) or the path of one" },
    out: { type: "text", hint: "DIR", required: true, description: "Folder of the new checkpoint" },
    seed: { type: "integer", hint: "N", least: 0, description: "Seed, instead of the recipe's" },
    set: { type: "list", hint: "PATH=VALUE", description: "Change a value of the recipe, e.g. pretrain.steps=100" },
    json: { type: "flag", description: "What was made as one JSON document on stdout" },
    quiet: { type: "flag", description: "No progress on stderr" },
  },
  examples: [
    ["envwright pretrain tiny --out checkpoints/base", "the base checkpoint of the tiny recipe"],
    ["envwright run tiny --set base=checkpoints/base", "then the loop from there"],
  ],
  interruptible: true,
  async run(values, { signal, print, printJson }) {
    const { recipe } = loadRecipe(values.recipe, values.set);
    const { out } = values;
    if (existsSync(out) && (await readdir(out)).length > 0) {
      throw new InputError({ message: `${out} is not empty`, value: out, expected: "a new folder", remedy: "choose another --out" });
    }
    const progress = openProgress({ quiet: values.quiet || (values.json && process.stderr.isTTY !== true) });
    const started = performance.now();
    let steps = 0;
    let last: Metrics | undefined;
    try {
      await pretrain({
        recipe,
        out,
        signal,
        ...(values.seed === undefined ? {} : { seed: values.seed }),
        onPhase: (phase) => progress.start(phase === "generate" ? "demonstrations" : "training step"),
        onProgress: (done, total) => progress.update(done, total),
        onStep: (metrics) => {
          last = metrics;
          steps += 1;
          progress.update(steps, recipe.pretrain?.steps ?? steps, losses(metrics));
        },
      });
    } finally {
      progress.close();
    }
    const seconds = (performance.now() - started) / 1000;
    if (values.json) printJson({ checkpoint: out, steps, seconds, metrics: last ?? {} });
    else print(`base checkpoint in ${out}: ${steps} steps in ${seconds.toFixed(0)} s${last === undefined ? "" : `, ${losses(last)}`}`);
  },
});

function losses(metrics: Metrics): string {
  const named: [string, number | undefined][] = [
    ["plan loss", metrics.loss_plan],
    ["engineering loss", metrics.loss_engineering],
  ];
  return named.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value.toFixed(3)}`])).join(", ");
}
