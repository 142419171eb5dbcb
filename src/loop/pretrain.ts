/**
 * Base training: the recipe's `pretrain` section → a checkpoint folder. Demonstrations come from the family's certified solver and from
 * the rule engineer; how narrow their config is decides what the loop has left to learn.
 */
import {
  ConfigError,
  type EnvironmentFamily,
  type InstanceBase,
  type Metrics,
  type PretrainOptions,
  parseWith,
  type Recipe,
  Seed,
} from "../core/index.js";
import { engineeringDemonstration, engineerWords } from "../engineers/index.js";
import { familyByName } from "../environments/index.js";
import { Engine, initialParameters, type Qwen3Config, qwen3ConfigSchema, Tokenizer } from "../nn/index.js";
import { trainSupervised } from "../trainers/index.js";
import { hashesApart, makeEvaluationSets } from "./evaluation-sets.js";
import { workerCount } from "./workers.js";

export interface PretrainRequest {
  recipe: Recipe;
  out: string;
  seed?: number;
  signal?: AbortSignal;
  onPhase?: (phase: "generate" | "train", total: number) => void;
  onProgress?: (done: number, total: number) => void;
  onStep?: (metrics: Metrics, seconds: number) => void;
}

export async function pretrain(request: PretrainRequest): Promise<void> {
  const { recipe } = request;
  const options = recipe.pretrain;
  if (options === undefined) {
    throw new ConfigError({
      message: `recipe "${recipe.name}" has no "pretrain" section`,
      expected: "a section that says which demonstrations the base checkpoint is trained on",
      remedy: "add one, see recipes/tiny.yaml, or start the loop from another checkpoint with base: DIR",
    });
  }
  const family = familyByName(recipe.family) as EnvironmentFamily<unknown, InstanceBase>;
  const given = Array.isArray(options.config) ? options.config : [options.config];
  const configs = given.map((config, i) => parseWith(family.configSchema, config, `recipe, pretrain.config.${i}`));
  const config = configs[0];
  const seed = Seed.root(request.seed ?? recipe.seed).child("pretrain");
  const objective = family.objective(config);
  const workers = workerCount(recipe.workers);

  request.onPhase?.("generate", options.instances);
  const template = family.normalise(parseWith(family.configSchema, recipe.config, "recipe, config")).config;
  const sets = await makeEvaluationSets(family, recipe, template, {
    workers,
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  const exclude = await hashesApart(family, Object.values(sets));
  const instances: InstanceBase[] = [];
  for (const [i, part] of configs.entries()) {
    const before = instances.length;
    const count = Math.floor((options.instances * (i + 1)) / configs.length) - before;
    const made = await family.generate(part, {
      count,
      seed: seed.child("instances", i),
      exclude,
      repeats: "allow",
      workers,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      onProgress: (done) => request.onProgress?.(before + done, options.instances),
    });
    instances.push(...made.instances);
  }

  const { tokenizer, modelConfig, parameters } = newModel(family, options, seed);
  const strata = family.strata(config);
  const engine = await Engine.start({ config: modelConfig, workers });
  try {
    request.onPhase?.("train", options.steps);
    await trainSupervised({
      engine,
      config: modelConfig,
      tokenizer,
      parameters,
      options,
      task: (index) => {
        const instance = instances[index]!;
        return { prompt: family.prompt(instance, "compact"), answer: family.demonstrate(instance, objective, "compact") };
      },
      engineering: (random) => engineeringDemonstration(random, strata, family, { history: true }),
      seed,
      to: request.out,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      ...(request.onStep === undefined ? {} : { onStep: request.onStep }),
    });
  } finally {
    await engine.close();
  }
}

/** A fresh model over the family's closed vocabulary; cells start from two-dimensional Fourier features. */
export function newModel(
  family: EnvironmentFamily<unknown, InstanceBase>,
  options: PretrainOptions,
  seed: Seed,
): { tokenizer: Tokenizer; modelConfig: Qwen3Config; parameters: Float32Array } {
  const { model } = options;
  const words = family.compactWords;
  const tokenizer = Tokenizer.create([...words.map((w) => w.word), ...engineerWords(family.allStrata, family)]);
  const modelConfig = qwen3ConfigSchema.parse({
    vocab_size: tokenizer.size,
    hidden_size: model.hidden_size,
    intermediate_size: model.intermediate_size,
    num_hidden_layers: model.layers,
    num_attention_heads: model.heads,
    num_key_value_heads: model.kv_heads,
    head_dim: model.head_dim,
    max_position_embeddings: model.max_positions,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    tie_word_embeddings: true,
  });
  const positions = new Map(words.flatMap((w) => (w.position === undefined ? [] : [[tokenizer.wordId(w.word), w.position] as const])));
  const parameters = initialParameters(modelConfig, seed.child("parameters"), (token) => positions.get(token));
  return { tokenizer, modelConfig, parameters };
}
