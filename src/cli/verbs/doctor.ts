/** `envwright doctor`: what a run needs of this machine, each tried for real. Exit code 1 when something that every run needs is missing. */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, freemem, tmpdir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { BoundaryError, EnvwrightError, pretrainOptionsSchema, type Recipe, Seed } from "../../core/index.js";
import { familyByName, familyNames } from "../../environments/index.js";
import { renderPng } from "../../evaluation/index.js";
import { checkRecipe, enginesLack, modulesMissing, newModel, pathOf, usesEngine } from "../../loop/index.js";
import { Engine, readModelConfig } from "../../nn/index.js";
import { readParquet, versions, writeParquet } from "../../store/index.js";
import { defineVerb } from "../define-verb.js";
import { loadRecipe, recipeNames } from "../recipes.js";

interface Check {
  name: string;
  state: "ok" | "warning" | "failed";
  detail: string;
  remedy?: string;
}

export default defineVerb({
  name: "doctor",
  description: "Check that this machine can run everything",
  options: { json: { type: "flag", description: "The checks as one JSON document on stdout" } },
  examples: [["envwright doctor", "versions, memory, engine, storage, recipes"]],
  async run({ json }, { print, printJson }) {
    const checks: Check[] = [
      await attempt("versions", async () => Object.entries(versions()).map(([name, version]) => `${name} ${version}`).join(", ")), // biome-ignore format: one line
      machine(),
      await attempt("engine", checkEngine),
      await attempt("storage", checkStorage),
      await attempt(
        "figures",
        async () =>
          `PNG of ${renderPng('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="15">a</text></svg>').length} bytes`,
      ),
    ];
    for (const name of recipeNames()) checks.push(await checkOneRecipe(name));
    const failed = checks.filter((check) => check.state === "failed");
    if (json) printJson({ ok: failed.length === 0, checks });
    else
      for (const { state, name, detail, remedy } of checks)
        print(`${state.padEnd(8)} ${name}: ${detail}${remedy === undefined ? "" : `\n         ${remedy}`}`);
    if (failed.length > 0) {
      throw new BoundaryError({
        boundary: "machine",
        message: `${failed.length} of ${checks.length} checks failed`,
        remedy: failed[0]!.remedy ?? `look at "${failed[0]!.name}"`,
      });
    }
  },
});

async function attempt(name: string, check: () => Promise<string | Check>): Promise<Check> {
  try {
    const found = await check();
    return typeof found === "string" ? { name, state: "ok", detail: found } : found;
  } catch (error) {
    const remedy = error instanceof EnvwrightError ? error.remedy : undefined;
    return { name, state: "failed", detail: (error as Error).message.split("\n", 1)[0]!, ...(remedy === undefined ? {} : { remedy }) };
  }
}

function machine(): Check {
  const gigabytes = (bytes: number) => (bytes / 2 ** 30).toFixed(1);
  const detail = `${process.platform} ${process.arch}, ${availableParallelism()} cores, ${gigabytes(freemem())} of ${gigabytes(totalmem())} GiB memory free`;
  if (freemem() > 2 ** 30) return { name: "machine", state: "ok", detail };
  return { name: "machine", state: "warning", detail, remedy: "the tiny recipe wants about 1 GiB; --set workers=1 lowers it" };
}

/** A small model: one gradient and one sample through the native runtime. */
async function checkEngine(): Promise<string> {
  const family = familyByName(familyNames()[0]!);
  const options = pretrainOptionsSchema.parse({
    config: {},
    model: { hidden_size: 32, layers: 1, heads: 1, kv_heads: 1, intermediate_size: 32 },
  });
  const { tokenizer, modelConfig, parameters } = newModel(family, options, Seed.root("doctor"));
  const engine = await Engine.start({ config: modelConfig, workers: 1 });
  try {
    const started = performance.now();
    await engine.setParameters(parameters);
    const tokens = tokenizer.encode(`${family.compactWords[0]!.word}${family.compactPromptEnd}`);
    const sequence = { tokens: Int32Array.from([...tokens, tokenizer.eosId]), promptLength: tokens.length, weights: Float32Array.of(1) };
    const { loss } = await engine.gradient([sequence], { kind: "nll" });
    const [sample] = await engine.sample([
      { prompt: tokens, seed: "doctor", index: 0, maxNewTokens: 4, temperature: 1, stopTokens: [tokenizer.eosId] },
    ]);
    return `a gradient (loss ${loss.toFixed(2)}) and a sample (${sample!.tokens.length} tokens) in ${Math.round(performance.now() - started)} ms`;
  } finally {
    await engine.close();
  }
}

async function checkStorage(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "envwright-doctor-"));
  try {
    const schema = z.strictObject({ n: z.int(), text: z.string() });
    const rows = [{ n: 1, text: "ä" }];
    await writeParquet(join(dir, "a.parquet"), schema, rows);
    const read = await readParquet(join(dir, "a.parquet"), schema);
    if (JSON.stringify(read) !== JSON.stringify(rows)) throw new Error("Parquet gave back other rows than were written");
    return `Parquet written and read in ${tmpdir()}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** A recipe that does not hold is a fault; one whose base is not on this machine only cannot be run here. */
async function checkOneRecipe(name: string): Promise<Check> {
  const label = `recipe ${name}`;
  return attempt(label, async () => {
    const { recipe, dir } = loadRecipe(name);
    const { family } = checkRecipe(recipe);
    const detail = `${family.name}, ${recipe.stages} stages, engineer ${recipe.engineer.name}`;
    const lack = [...(await enginesLack(recipe)), ...(await serverLacks(recipe))];
    if (!usesEngine(recipe)) {
      const outside = `${detail}; base ${recipe.base}, trained by ${recipe.trainer.kind}, served by ${recipe.serving?.kind}`;
      return { name: label, state: lack.length === 0 ? "ok" : "warning", detail: [outside, ...lack].join("; ") };
    }
    const base = await attempt(label, async () => {
      const model = await readModelConfig(resolve(dir, recipe.base));
      return `${detail}; base of ${model.num_hidden_layers} layers, hidden size ${model.hidden_size}`;
    });
    if (base.state === "ok" && lack.length === 0) return base;
    return { ...base, state: "warning", detail: [base.detail, ...lack].join("; ") };
  });
}

/** What the server of a run's checkpoints lacks here: its program, or the module that Python is to run. */
export async function serverLacks({ serving }: Pick<Recipe, "serving">): Promise<string[]> {
  const [program, flag, module] = serving?.command ?? [];
  if (program === undefined) return [];
  if (flag === "-m" && module !== undefined) return modulesMissing(program, [module.split(".", 1)[0]!], "serving.command");
  return pathOf(program) !== undefined ? [] : [`there is no ${program} here (serving.command names another)`];
}
