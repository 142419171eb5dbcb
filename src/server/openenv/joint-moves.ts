/**
 * The moves form as text: what a policy is told before each joint move, and how its reply is read. The last line that is not
 * blank counts, after the thinking; one action per agent, in the order of the agents.
 */
import {
  ACTIONS,
  type Action,
  type Cell,
  type Instance,
  mapfFrozenLake as lake,
  type NoPlan,
  stepLimit,
  thinkingEnd,
} from "../../environments/mapf-frozenlake/index.js";

/** The chat prompt with its last paragraph, on the form of a whole answer, replaced. */
export function firstPrompt(instance: Instance): string {
  const prompt = lake.prompt(instance, "chat");
  return `${prompt.slice(0, prompt.lastIndexOf("\n\n"))}\n\n${howToReply(instance)}`;
}

export function nextPrompt(instance: Instance, positions: readonly Cell[], step: number, limit: number): string {
  const at = ([row, column]: Cell) => `(${row}, ${column})`;
  const lines = positions.map((cell, i) => `Agent ${i}: on ${at(cell)}, goal ${at(instance.agents[i]!.goal)}`);
  return [`After step ${step} of at most ${limit}:`, ...lines, "", howToReply(instance)].join("\n");
}

function howToReply({ agents }: Instance): string {
  const example = agents.map((_, i) => ["LEFT", "WAIT"][i % 2]).join(", ");
  return agents.length === 1
    ? `Reply with the next move alone: one of ${ACTIONS.join(", ")}.`
    : `Reply with the next joint move alone: one of ${ACTIONS.join(", ")} for each agent, in order, separated by commas, e.g. ${example}`;
}

/** The joint move of a reply, or why it holds none. Linear in its length. */
export function readMoves(text: string, agents: number): Action[] | NoPlan {
  const from = thinkingEnd(text);
  if (typeof from === "object") return from;
  const lines = text.slice(from).split("\n");
  const line = lines.findLast((candidate) => candidate.trim() !== "")?.trim() ?? "";
  const words = line.length > 200 ? [] : line.split(/[\s,]+/).filter((word) => word !== "");
  const moves = words.map((word) => word.toUpperCase());
  const unknown = moves.findIndex((move) => !(ACTIONS as readonly string[]).includes(move));
  if (unknown >= 0)
    return { code: "parse-error", reason: `unknown word ${JSON.stringify(words[unknown]!.slice(0, 24))} where a move was expected` };
  if (moves.length !== agents)
    return { code: "parse-error", reason: `the last line names ${moves.length} moves; there are ${agents} agents` };
  return moves as Action[];
}

export function stepsAllowed(instance: Instance, asked: number | null | undefined): number {
  return Math.min(asked ?? Number.POSITIVE_INFINITY, stepLimit(instance.size));
}
