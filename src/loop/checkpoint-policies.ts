/**
 * Who answers for a run's checkpoints in evaluation and proposals: the embedded engine in this process, or a model server that the recipe's
 * `serving` names. A checkpoint is a number: 0 is the base, stage i's is i + 1.
 */
import type { EventStream, Policy, Recipe, Seed } from "../core/index.js";
import { type Checkpoint, type Engine, readCheckpoint } from "../nn/index.js";
import { EmbeddedPolicy, ServedModel } from "../policies/index.js";
import type { RunFolder } from "../store/index.js";

export interface CheckpointPolicies {
  /** @param name of the policy in what is recorded. @param stage that it is asked in. @throws {CorruptFileError} a changed checkpoint. */
  open(name: string, checkpoint: number, stage: number): Promise<Policy>;
  /** Gives back what a trainer needs: the memory of the devices. */
  release(): Promise<void>;
  close(): Promise<void>;
}

export function embeddedPolicies(engine: Engine, base: Checkpoint, folder: RunFolder): CheckpointPolicies {
  return {
    async open(name, checkpoint) {
      const { parameters } = checkpoint === 0 ? base : await readCheckpoint(await folder.verified(checkpoint - 1, "checkpoint"));
      return new EmbeddedPolicy(name, engine, base.tokenizer, parameters);
    },
    // The trainer shares the engine, and whoever opened it closes it.
    release: async () => undefined,
    close: async () => undefined,
  };
}

export interface ServedParts {
  recipe: Recipe & { serving: NonNullable<Recipe["serving"]> };
  folder: RunFolder;
  seed: Seed;
  events: Pick<EventStream, "emit">;
  /** File for the server's log; unless given `serving.log` beside the checkpoint: in the stage's folder, or for the base in the run's. */
  log?: string;
}

export function servedPolicies({ recipe, folder, seed, events, log }: ServedParts): CheckpointPolicies {
  const served = new ServedModel(recipe.serving, {
    rendering: recipe.rendering,
    random: seed.child("serving").at(0),
    onState: (state, { stage, checkpoint }, seconds) =>
      events.emit({ type: "serving", stage, checkpoint, state, ...(seconds === undefined ? {} : { seconds }) }),
    onTrouble: (message, { stage }) => events.emit({ type: "warning", stage, message: `serving failed, ${message}` }),
  });
  return {
    async open(name, checkpoint, stage) {
      const model = checkpoint === 0 ? recipe.base : await folder.verified(checkpoint - 1, "checkpoint");
      const beside = folder.path(checkpoint === 0 ? "run" : checkpoint - 1, "serving.log");
      return served.policy(name, { checkpoint, model, stage, log: log ?? beside });
    },
    release: () => served.release(),
    close: () => served.close(),
  };
}
