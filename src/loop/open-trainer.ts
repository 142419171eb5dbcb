/** The trainer that a recipe names. Engines outside of this process are rewarded by a service that is opened for each stage and closed with it. */
import { randomBytes } from "node:crypto";
import type { EnvironmentFamily, InstanceBase, Recipe } from "../core/index.js";
import { engineeringDemonstration, engineerWords } from "../engineers/index.js";
import type { Checkpoint, Engine } from "../nn/index.js";
import { serveReward } from "../server/reward/index.js";
import {
  EmbeddedTrainer,
  EngineTrainer,
  type OpenRewardEndpoint,
  processRunner,
  RayJobs,
  rayRunner,
  type Trainer,
  TrlAdapter,
  VerlAdapter,
} from "../trainers/index.js";

export interface TrainerParts<I extends InstanceBase> {
  recipe: Recipe;
  family: EnvironmentFamily<unknown, I>;
  strata: readonly string[];
  objective: string;
  /** For the trainer in this process. */
  embedded: { engine: Engine; base: Checkpoint } | undefined;
}

/** @throws {ConfigError} for options that the trainer has no counterpart for. */
export function openTrainer<I extends InstanceBase>(parts: TrainerParts<I>): Trainer<I> {
  const { recipe, family, strata, objective, embedded } = parts;
  const options = recipe.trainer;
  switch (options.kind) {
    case "embedded": {
      const { engine, base } = embedded!;
      // A base that never learned the engineer's language (another vocabulary) has nothing to keep.
      const speaks = engineerWords(family.allStrata, family).every((word) => base.tokenizer.has(word));
      return new EmbeddedTrainer(engine, {
        grpo: options.grpo,
        objective,
        ...(speaks ? { replay: (random) => engineeringDemonstration(random, [...strata], family, { history: true }) } : {}),
      });
    }
    case "trl":
      return new EngineTrainer(new TrlAdapter<I>(options, recipe.rendering), rewardOpener(recipe, objective), processRunner("trl"));
    case "verl":
      return new EngineTrainer(
        new VerlAdapter<I>(options, { family: recipe.family, rendering: recipe.rendering }),
        rewardOpener(recipe, objective),
        options.ray === undefined
          ? processRunner("verl")
          : rayRunner(new RayJobs(options.ray, { boundary: "verl", token: process.env.RAY_AUTH_TOKEN })),
      );
  }
}

/** @throws {ConfigError} for options of the recipe's trainer that are wrong whatever the run. */
export function checkTrainer({ trainer, rendering }: Pick<Recipe, "trainer" | "rendering">): void {
  if (trainer.kind === "trl") new TrlAdapter(trainer, rendering);
}

export function rewardOpener(
  { family, rendering, reward }: Pick<Recipe, "family" | "rendering" | "reward">,
  objective: string,
): OpenRewardEndpoint {
  return async ({ host, emaValid, stepSize, onJudged }) => {
    const token = randomBytes(24).toString("hex");
    const service = await serveReward({
      family,
      rendering,
      objective,
      reward,
      threads: 1,
      host,
      token,
      emaValid,
      stepSize,
      onScored: onJudged,
    });
    return { url: service.url, token, emaValid: () => service.emaValid(), close: () => service.close() };
  };
}
