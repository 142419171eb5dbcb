/** Engineers by name, as recipes and the command line give them. Policies and files are opened by the caller and handed in. */
import { ConfigError, type KnobTable, nearest, type Policy, type Proposal } from "../core/index.js";
import { banditEngineer } from "./bandit-engineer.js";
import { fixedEngineer, hardestEngineer, randomEngineer, replayEngineer } from "./baseline-engineers.js";
import type { Engineer } from "./engineer.js";
import { gradedEngineer } from "./graded-engineer.js";
import { type HumanDesk, humanEngineer } from "./human-engineer.js";
import { learnabilityEngineer } from "./learnability-engineer.js";
import { type ModelEngineerOptions, modelEngineer } from "./model-engineer.js";
import { ruleEngineer } from "./rule-engineer.js";
import { slidingEngineer } from "./sliding-engineer.js";

/** What an engineer may need from outside. */
export interface EngineerParts {
  /** For `self`, `base` and `llm`. */
  policy?: Policy;
  model?: ModelEngineerOptions;
  /** For `fixed`: the control's knobs instead of the first config's. */
  fixed?: KnobTable;
  /** For `replay`: the proposals of an earlier run. */
  proposals?: readonly Proposal[];
  /** For `human`: where a person is asked, and a proposal to approve or edit instead of the current config. */
  desk?: HumanDesk;
  draft?: Proposal;
}

const MODELS = ["self", "base", "llm"] as const;

const COMPUTING: Record<string, (parts: EngineerParts) => Engineer> = {
  rule: () => ruleEngineer(),
  graded: () => gradedEngineer(),
  learnability: () => learnabilityEngineer(),
  bandit: () => banditEngineer(),
  sliding: () => slidingEngineer(),
  hardest: () => hardestEngineer(),
  random: () => randomEngineer(),
  fixed: ({ fixed }) => fixedEngineer(fixed),
  replay: ({ proposals }) =>
    replayEngineer(required(proposals, "replay", "the proposals of an earlier run", "give its folder as engineer.from")),
  human: ({ desk, draft }) =>
    humanEngineer(required(desk, "human", "a run that waits", "it answers in a run; otherwise give a file"), draft),
};

export const ENGINEERS: readonly string[] = [...MODELS, ...Object.keys(COMPUTING)];

/** Whether an engineer asks a policy. */
export function isModelEngineer(name: string): boolean {
  return (MODELS as readonly string[]).includes(name);
}

/** @throws {ConfigError} no such engineer, or one that lacks what it needs. */
export function createEngineer(name: string, parts: EngineerParts = {}): Engineer {
  if (isModelEngineer(name))
    return modelEngineer(name, required(parts.policy, name, "a policy to ask", "name a checkpoint or endpoint"), parts.model);
  const create = Object.hasOwn(COMPUTING, name) ? COMPUTING[name] : undefined;
  if (create !== undefined) return create(parts);
  const close = nearest(name, ENGINEERS);
  throw new ConfigError({
    message: `there is no engineer "${name}"`,
    value: name,
    expected: ENGINEERS.join(", "),
    remedy: close === undefined ? "name one of these" : `did you mean "${close}"?`,
  });
}

function required<T>(part: T | undefined, engineer: string, what: string, remedy: string): T {
  if (part !== undefined) return part;
  throw new ConfigError({ message: `the engineer "${engineer}" needs ${what}`, value: engineer, expected: what, remedy });
}
