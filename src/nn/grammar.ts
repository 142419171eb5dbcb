/**
 * Constrained decoding: a serialisable deterministic automaton over token ids. In each state only the tokens with a transition may be
 * sampled; a state without transitions ends the completion.
 */
import { InputError } from "../core/index.js";

export interface Grammar {
  start: number;
  /** State → token → next state. */
  transitions: Record<number, number>[];
}

/** One token of each set in turn, then `end`. @throws {InputError} an empty set, which nothing could satisfy. */
export function sequenceGrammar(allowed: readonly (readonly number[])[], end: number): Grammar {
  const transitions: Record<number, number>[] = allowed.map((tokens, state) => {
    if (tokens.length === 0) {
      throw new InputError({ message: `position ${state} of the grammar allows no token`, value: state, expected: "at least one token" });
    }
    return Object.fromEntries(tokens.map((token) => [token, state + 1]));
  });
  transitions.push({ [end]: allowed.length + 1 }, {});
  return { start: 0, transitions };
}

/** The state after `token`, or undefined where the grammar does not allow it. */
export function advance(grammar: Grammar, state: number, token: number): number | undefined {
  return grammar.transitions[state]?.[token];
}
