import { familyConformance } from "../conformance.js";
import type { MapfConfig } from "./config.js";
import { mapfFrozenLake } from "./family.js";
import { parsePrompt } from "./parse-prompt.js";

const config: MapfConfig = {
  agents: [2, 3],
  objective: "makespan",
  sizes: {
    "3": { data_ratio: 0.25, hole_ratio: 0.2, wait_ratio: 0.4 },
    "4": { data_ratio: 0.25, hole_ratio: 0.2, wait_ratio: 0.2 },
    "6": { data_ratio: 0.5, hole_ratio: 0.3, wait_ratio: 0.5 },
  },
};

familyConformance(mapfFrozenLake, config, {
  count: 60,
  readPrompt: parsePrompt,
  problem: ({ size, holes, agents }) => ({ size, holes, agents }),
  quotas: (instances) => {
    const number = (test: (instance: (typeof instances)[number]) => boolean) => instances.filter(test).length;
    return [
      ["size 3", number(({ size }) => size === 3), 15],
      ["size 4", number(({ size }) => size === 4), 15],
      ["size 6", number(({ size }) => size === 6), 30],
      ["waits at size 3", number(({ size, wait_required }) => size === 3 && wait_required), 6],
      ["waits at size 4", number(({ size, wait_required }) => size === 4 && wait_required), 3],
      ["waits at size 6", number(({ size, wait_required }) => size === 6 && wait_required), 15],
      ["2 agents", number(({ agents }) => agents.length === 2), 30],
      ["2 holes at size 3", number(({ size, holes }) => size === 3 && holes.length === 2), 15],
      ["11 holes at size 6", number(({ size, holes }) => size === 6 && holes.length === 11), 30],
    ];
  },
});
