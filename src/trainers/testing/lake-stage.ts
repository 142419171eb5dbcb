/** One small stage of MAPF-FrozenLake for the trainers' tests: boards, scorer and reward service as a run has them. */
import { join } from "node:path";
import { rewardOptionsSchema, Seed } from "../../core/index.js";
import { mapfFrozenLake as family, type Instance } from "../../environments/mapf-frozenlake/index.js";
import { rewardOpener } from "../../loop/open-trainer.js";
import { FamilyScorer } from "../../rewards/index.js";
import type { TrainerUnderTest } from "../conformance.js";

/** The checkpoint that the stage starts from. */
export const BASE = join(import.meta.dirname, "../../../assets/base-tiny");

const [rendering, objective] = ["compact", "makespan"] as const;
const reward = rewardOptionsSchema.parse({});
const config = family.configSchema.parse({
  agents: [2],
  objective,
  sizes: { "3": { data_ratio: 1, hole_ratio: 0.1, wait_ratio: 0.3 } },
});

export const newScorer = (): FamilyScorer<Instance> => new FamilyScorer(family, { objective, rendering, reward, scale: "group" });

/** Opens the service that an engine asks for rewards. */
export const openReward = rewardOpener({ family: family.name, rendering, reward }, objective);

/** A stage on `count` boards. */
export async function lakeStage(count = 12): Promise<TrainerUnderTest<Instance>["request"]> {
  const { instances } = await family.generate(config, { count, seed: Seed.root("trainers") });
  return {
    stage: 0,
    seed: Seed.root("trainer-conformance"),
    instances,
    prompt: (instance) => family.prompt(instance, rendering),
    stratum: (instance) => family.stratum(instance),
    scorer: newScorer(),
    from: BASE,
  };
}
