/**
 * The rules of MAPF-FrozenLake, said once: the actions, the rule codes with their sentences, and the step limit. The prompt prints these
 * sentences and the verifier enforces them; neither states a rule of its own.
 */
import type { FailureCode } from "../../core/index.js";

export const ACTIONS = ["UP", "DOWN", "LEFT", "RIGHT", "WAIT"] as const;
export type Action = (typeof ACTIONS)[number];

/** Row and column change of each action, by its index in ACTIONS. */
export const ROW_STEP: readonly number[] = [-1, 1, 0, 0, 0];
export const COLUMN_STEP: readonly number[] = [0, 0, -1, 1, 0];

export const OBJECTIVES = ["makespan", "sum_of_costs"] as const;
export type Objective = (typeof OBJECTIVES)[number];

/**
 * The most steps a plan may have on an n×n board. Far above any optimum that a generated board has (at most some tens of steps on
 * 10×10), it only bounds what an answer can make the verifier do.
 */
export function stepLimit(size: number): number {
  return 10 * size * size;
}

/** The ways in which a plan breaks a rule, in the order that decides between rules broken in the same step. */
export const BROKEN_RULES = ["illegal-move", "hole", "vertex-conflict", "swap-conflict", "goal-missed"] as const;
export type BrokenRule = (typeof BROKEN_RULES)[number];

/** Every code a failed answer can have. The first two say that there was no plan to judge. */
export const FAILURE_CODES: readonly FailureCode[] = [
  { code: "parse-error", description: "The answer is not one plan for every agent in the stated format." },
  { code: "truncated", description: "The answer was cut off by the length limit, or its thinking was never closed." },
  { code: "illegal-move", description: "A move leaves the grid or goes to a cell that is not a neighbour." },
  { code: "hole", description: "An agent enters a hole." },
  { code: "vertex-conflict", description: "Two agents are on the same cell at the same time, finished agents included." },
  { code: "swap-conflict", description: "Two agents exchange their cells in one step." },
  { code: "goal-missed", description: "An agent does not end on its goal." },
];

/** The rules as the chat prompt states them. `limit` is the step limit of the board. */
export function ruleSentences(limit: number): string[] {
  return [
    "Time is discrete. In every step each agent does one of UP, DOWN, LEFT, RIGHT or WAIT, all agents at once. UP lowers the row by 1, DOWN raises it by 1, LEFT lowers the column by 1, RIGHT raises it by 1.",
    "An agent must not leave the grid and must not enter a hole.",
    "Two agents must never be on the same cell at the same time, and must not exchange their cells in one step. Entering a cell that another agent leaves in the same step is allowed.",
    "Agents stay on the board when they are done: an agent whose plan is shorter than the longest one waits where it is, and others must keep off its cell.",
    "Every agent must end on its goal.",
    `A plan has at most ${limit} steps.`,
  ];
}

/** What to aim for, in words that hold for either objective. */
export const AIM = "Reach this in as few steps as possible; waiting at the goal after the last arrival costs nothing.";
