/** What the tests of the reward service judge: 24 boards, their right answers, and the service's options. */
import { Seed } from "../../core/index.js";
import { mapfFrozenLake as family, type Instance } from "../../environments/mapf-frozenlake/index.js";

export const options = { family: family.name, rendering: "compact", objective: "makespan", threads: 1 } as const;

export const gold = (instance: Instance): string => family.demonstrate(instance, "makespan", "compact");

export async function rewardTestBoards(): Promise<Instance[]> {
  const config = family.configSchema.parse({
    agents: [2, 3],
    objective: "makespan",
    sizes: { "4": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.3 }, "5": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.3 } },
  });
  const { instances } = await family.generate(config, { count: 24, seed: Seed.root("reward-service") });
  return instances;
}
