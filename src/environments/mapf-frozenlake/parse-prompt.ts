/**
 * A prompt back to its board: the proof that both renderings are lossless, and how a scripted policy knows what it is asked. Refuses text
 * that this family did not write.
 */
import { InputError, parseWith, type Rendering } from "../../core/index.js";
import { type Board, boardSchema, type Cell } from "./instance.js";

/** The board that `renderPrompt` rendered. @throws {InputError} */
export function parsePrompt(prompt: string, rendering: Rendering): Board {
  const board = rendering === "chat" ? readChat(prompt) : readCompact(prompt);
  if (board === undefined) {
    throw new InputError({
      message: `not a ${rendering} prompt of mapf-frozenlake`,
      value: prompt.slice(0, 120),
      expected: rendering === "chat" ? "the text with size, holes and agents" : "<size:n><agents:k><hole:r,c>…<start:r,c><goal:r,c>…<plan>",
      remedy: "give the prompt exactly as the family rendered it",
    });
  }
  return parseWith(boardSchema, board, `${rendering} prompt`, InputError);
}

function readCompact(prompt: string): Board | undefined {
  const whole = /^<size:(\d+)><agents:(\d+)>((?:<hole:\d,\d>)*)((?:<start:\d,\d><goal:\d,\d>)+)<plan>$/.exec(prompt);
  if (whole === null) return undefined;
  const holes = [...whole[3]!.matchAll(/<hole:(\d),(\d)>/g)].map(cellOf);
  const agents = [...whole[4]!.matchAll(/<start:(\d),(\d)><goal:(\d),(\d)>/g)].map(agentOf);
  return agents.length === Number(whole[2]) ? { size: Number(whole[1]), holes, agents } : undefined;
}

function readChat(prompt: string): Board | undefined {
  const header = /^Plan the moves of (\d+) agents? on a frozen lake, a (\d+)x\2 grid/.exec(prompt);
  const holeLine = /^Holes: (.*)$/m.exec(prompt);
  if (header === null || holeLine === null) return undefined;
  const holes = [...holeLine[1]!.matchAll(/\((\d+), (\d+)\)/g)].map(cellOf);
  const agents = [...prompt.matchAll(/^Agent \d+: start \((\d+), (\d+)\), goal \((\d+), (\d+)\)$/gm)].map(agentOf);
  return agents.length === Number(header[1]) ? { size: Number(header[2]), holes, agents } : undefined;
}

function cellOf(match: RegExpMatchArray): Cell {
  return [Number(match[1]), Number(match[2])];
}

function agentOf(match: RegExpMatchArray): { start: Cell; goal: Cell } {
  return { start: [Number(match[1]), Number(match[2])], goal: [Number(match[3]), Number(match[4])] };
}
