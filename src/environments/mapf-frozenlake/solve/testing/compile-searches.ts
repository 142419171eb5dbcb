/** Compiles assembly/ (AssemblyScript) to WebAssembly. */
import { readFileSync } from "node:fs";
import asc from "assemblyscript/asc";
import binaryen from "assemblyscript/binaryen";
import type { Board } from "../../instance.js";
import { packBoard } from "../pack-board.js";
import { writeNeighbours } from "../searches.js";
import { compiled, instantiated } from "../web-assembly.js";

interface Parts {
  memory: { buffer: ArrayBuffer };
  weightsAt(): number;
  smallestCover(weights: number, agents: number): number;
  coverFits(weights: number, agents: number, limit: number): number;
  optionsAt(): number;
  optionsThatFit(agents: number, limit: number, alive: number): number;
  neighbourTablesAt(): number;
  holesAt(): number;
  startsAt(): number;
  goalsAt(): number;
  costByJointSearch(size: number, agents: number, nodes: number, mostExtra: number): number;
  beginPairs(size: number, agents: number): number;
  optionOf(agent: number, code: number, u: number): number;
  pairIncrease(i: number, j: number, a: number, b: number, cap: number): number;
  movesOfPair(i: number, j: number, a: number, b: number, slack: number): number;
  putCell(agent: number, t: number, cell: number): void;
  askFoursFrom(nodes: number): void;
  beginWithBlocks(blocks: number): void;
  endSpaceAfter(blocks: number): void;
  spaceEnd(): number;
  certify(size: number, agents: number, budget: number, needMakespan: number, needWait: number, stopAboveSic: number): number;
  resultsAt(): number;
  spentNodes(): number;
  resetNodes(): void;
  addNode(position: bigint, bucket: number): number;
  popNode(bucket: number): number;
  findNode(position: bigint): number;
  resetTable(holdsMost: number): void;
  setLeast(position: bigint, code: number, least: number): void;
  setMost(position: bigint, code: number, most: number): void;
  lookUpLeast(position: bigint, code: number): number;
  lookUpMost(position: bigint, code: number): number;
}

const ROOT = new URL("../../../../../", import.meta.url);
const OPTIONS = ["-O3", "--converge", "--noAssert", "--runtime", "stub", "--enable", "simd"];

/** Where a function is to be inlined everywhere. The compiler has a decorator for it, which the linter cannot read there. */
const INLINE = /^\/\/ @inline$/gm;

/** Of what the compiler emits. */
const FEATURES = [
  binaryen.Features.MutableGlobals,
  binaryen.Features.NontrappingFPToInt,
  binaryen.Features.SIMD128,
  binaryen.Features.BulkMemory,
  binaryen.Features.BulkMemoryOpt,
  binaryen.Features.SignExt,
].reduce((all, feature) => all | feature, binaryen.Features.MVP);

/** The bytes of a module whose exports are those of a file in assembly/. */
export async function compileAssembly(entry: string): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  const { error, stderr } = await asc.main([`assembly/${entry}`, ...OPTIONS, "--outFile", "out.wasm"], {
    readFile: (name) => read(name),
    writeFile: (name, contents) => {
      if (name === "out.wasm") bytes = contents as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || bytes === undefined) throw new Error(`assembly/${entry} does not compile: ${stderr.toString()}`);
  return bytes;
}

/**
 * Once more without the compiler's limit for functions that are called in one place: those are inlined whatever their size. The other limits
 * are the optimiser's own, which the compiler has raised.
 */
function optimised(bytes: Uint8Array): Uint8Array {
  const module = binaryen.readBinaryWithFeatures(bytes, FEATURES);
  binaryen.setOptimizeLevel(3);
  binaryen.setShrinkLevel(0);
  binaryen.setAlwaysInlineMaxSize(2);
  binaryen.setFlexibleInlineMaxSize(20);
  binaryen.setOneCallerInlineMaxSize(-1);
  module.optimize();
  const better = module.emitBinary();
  module.dispose();
  return better;
}

let partsModule: Promise<object> | undefined;

/** An instance of assembly/for-tests.ts: parts of the searches, to be tested alone. */
export async function partsOfSearches(): Promise<Parts> {
  const exhausted = () => {
    throw new Error("the node budget is exhausted");
  };
  const never = () => {
    throw new Error("asked for what no test of a part asks for");
  };
  partsModule ??= compileAssembly("for-tests.ts").then(compiled);
  const parts = instantiated(await partsModule, {
    budget: { exhausted },
    solver: { deepenWithin: never },
    env: { abort: never },
  }) as Parts;
  writeNeighbours(parts.memory.buffer, parts.neighbourTablesAt());
  return parts;
}

/** Writes a board to where the searches read it. */
export function placeBoard(parts: Parts, board: Board): void {
  const { holes, starts, goals } = packBoard(board);
  const bytes = new Uint8Array(parts.memory.buffer);
  bytes.set(holes, parts.holesAt());
  bytes.set(starts, parts.startsAt());
  bytes.set(goals, parts.goalsAt());
}

/** The board's status and both optima (−1: not found), by these parts alone. @param parts whose budget may end: then this throws */
export function certifyBy(parts: Parts, board: Board, nodes: number): { status: string; sum_of_costs: number; makespan: number } {
  placeBoard(parts, board);
  const status = ["unsolvable", "solved"][parts.certify(board.size, board.agents.length, nodes, 1, 1, 0)]!;
  const [sum_of_costs, makespan] = new Int32Array(parts.memory.buffer, parts.resultsAt(), 2);
  return { status, sum_of_costs: sum_of_costs!, makespan: makespan! };
}

/** The source of searches-wasm.ts. */
export async function compileSearches(): Promise<string> {
  const text = Buffer.from(optimised(await compileAssembly("index.ts"))).toString("base64");
  const lines = text.match(/.{1,120}/g)!.map((line) => `${line}\n`);
  return `// assembly/, compiled by \`npm run build:searches\`.\n// biome-ignore-all format: generated\nexport const SEARCHES = \`\n${lines.join("")}\`;\n`;
}

function read(name: string): string | null {
  try {
    return readFileSync(new URL(name, ROOT), "utf8").replaceAll(INLINE, "@inline");
  } catch {
    return null;
  }
}
