/** MAPF-FrozenLake as an environment family: the one object through which the loop meets this testbed. */
import type { EnvironmentFamily } from "../../core/index.js";
import { completeInstance, identifyBoard } from "./complete.js";
import { configSchema, KNOBS, knobTable, type MapfConfig, normalise, randomConfig, SIZE_KEYS, sizesOf, withKnobs } from "./config.js";
import { demonstrate } from "./demonstrate.js";
import { infeasible, nearestFeasible } from "./feasibility.js";
import { generateBalanced, generateTraining, streamTraining } from "./generate.js";
import { guideline } from "./guideline.js";
import { type Instance, instanceSchema } from "./instance.js";
import { compactWords, PROMPT_END, renderPrompt } from "./prompt.js";
import { FAILURE_CODES, OBJECTIVES, type Objective } from "./rules.js";
import { verify } from "./verify.js";

export const mapfFrozenLake: EnvironmentFamily<MapfConfig, Instance> = {
  name: "mapf-frozenlake",
  description: "Multi-agent path finding on a frozen lake: several agents, one grid with holes, no collisions, certified optima.",
  configSchema,
  instanceSchema,
  knobs: KNOBS,
  failureCodes: FAILURE_CODES,
  objectives: OBJECTIVES,
  stratumLabel: "size",
  guideline,

  allStrata: SIZE_KEYS,
  strata: sizesOf,
  objective: (config) => config.objective,
  knobTable,
  withKnobs,
  normalise,
  randomConfig: (like, random) => randomConfig(like, random, (size, agents, knobs) => nearestFeasible(size, agents, knobs) ?? knobs),
  infeasible,

  generate: generateTraining,
  generateStreamed: streamTraining,
  generateBalanced,
  reservedHashes: async () => (await import("./benchmark.js")).reservedHashes(),

  stratum: (instance) => String(instance.size),
  tags: (instance) => ({
    agents: String(instance.agents.length),
    conflict: String(instance.conflict),
    wait_required: String(instance.wait_required),
  }),
  complete: completeInstance,
  identify: identifyBoard,

  prompt: renderPrompt,
  demonstrate: (instance, objective, rendering) => demonstrate(instance, objective as Objective, rendering),
  verify,

  compactWords,
  compactPromptEnd: PROMPT_END,
};
