/**
 * `envwright draw`: a board, or a plan on it, as a picture. The plan is an optimal one, or a model's answer judged by the verifier: every
 * broken rule stands in the picture at its step and cells. The ending of `--out` says what is made.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { completionSchema, InputError, parseWith } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { type Board, boardSchema, type Instance, type Objective, solve } from "../../environments/mapf-frozenlake/index.js";
import { animatedSvg, boardSvg, type DrawnPlan, planSvg, readAnswer, THEMES, type Theme } from "../../pictures/index.js";
import { readRows, writeFileAtomic } from "../../store/index.js";
import { defineVerb } from "../define-verb.js";
import { loadInstanceSet } from "../instance-sets.js";

type Named = Board & { id?: string };

const KINDS = [".svg", ".png", ".gif"] as const;

export default defineVerb({
  name: "draw",
  description: "Draw a board or a plan: SVG, animated SVG, PNG or GIF",
  options: {
    source: { type: "positional", hint: "SET|FILE", required: true, description: "Benchmark set, or instances or one board: .json, .jsonl, .parquet" }, // biome-ignore format: one line
    index: { type: "integer", hint: "N", least: 1, description: "Which instance, from 1 (default 1)" },
    id: { type: "text", hint: "ID", description: "Which instance, by its id" },
    plan: { type: "choice", of: ["optimal", "none"], description: "Draw an optimal plan (the default), or the board alone" },
    objective: {
      type: "choice",
      of: ["makespan", "sum-of-costs"],
      default: "makespan",
      description: "What the optimal plan is optimal in",
    },
    completion: { type: "text", hint: "FILE", description: "Draw this answer: a text file, or completions (.jsonl, .parquet) of which the instance's first counts" }, // biome-ignore format: one line
    rendering: { type: "choice", of: ["chat", "compact"], default: "chat", description: "Language of the answer" },
    animate: { type: "flag", description: "An SVG that moves; a GIF always does" },
    theme: { type: "choice", of: THEMES, default: "auto", description: "auto follows the reader's setting; PNG and GIF are then light" },
    out: { type: "text", hint: "PICTURE", required: true, description: "File to write: .svg, .png or .gif" },
  },
  examples: [
    ["envwright draw bench-3 --index 7 --out plan.svg", "an optimal plan, with arrows"],
    ["envwright draw bench-3 --index 7 --animate --out plan.svg", "the same, moving"],
    ["envwright draw boards.jsonl --index 1 --completion answer.txt --out answer.gif", "an answer, with what it breaks"],
    ["envwright draw board.json --plan none --theme dark --out board.png", "a board alone"],
  ],
  async run(values, { note }) {
    const kind = kindOf(values.out);
    if (values.animate && kind === ".png") throw mistake("--animate: a PNG does not move", values.out, "a name that ends in .svg or .gif");
    if (values.completion !== undefined && values.plan !== undefined) {
      throw mistake("--plan and --completion are both given", values.plan, "one of them");
    }
    const board = await chosen(values.source, values.index, values.id);
    const theme = values.theme as Theme;
    const name = board.id ?? values.source;
    const drawn = await planOf(board, values);
    const title = drawn.caption === undefined ? name : `${name}: ${drawn.caption}`;
    if (drawn.plan === undefined && (values.animate || kind === ".gif")) {
      throw mistake(drawn.caption ?? "a board alone does not move", values.out, "a plan to animate, or a still picture");
    }
    const options = { title, theme, ...(drawn.caption === undefined ? {} : { caption: drawn.caption }) };
    await mkdir(dirname(values.out), { recursive: true });
    if (kind === ".gif") {
      const { animatedGif } = await import("../../pictures/raster.js");
      await writeFileAtomic(values.out, animatedGif(board, drawn.plan!, options));
    } else {
      const svg =
        drawn.plan === undefined
          ? boardSvg(board, options)
          : values.animate
            ? animatedSvg(board, drawn.plan, options)
            : planSvg(board, drawn.plan, options);
      await writeFileAtomic(values.out, kind === ".svg" ? svg : (await import("../../pictures/raster.js")).pngOf(svg));
    }
    note(`${values.out}: ${name}${drawn.caption === undefined ? "" : `, ${drawn.caption}`}`);
  },
});

function kindOf(out: string): (typeof KINDS)[number] {
  const kind = KINDS.find((k) => k === extname(out).toLowerCase());
  if (kind === undefined) throw mistake(`${out} does not say what to make`, out, `a name that ends in ${KINDS.join(", ")}`);
  return kind;
}

/** A board alone need not have a solution to be drawn; a set's instances are complete. */
async function chosen(source: string, index: number | undefined, id: string | undefined): Promise<Named> {
  if (index !== undefined && id !== undefined) throw mistake("--index and --id are both given", id, "one of them");
  const single = extname(source) === ".json" ? await firstIfSingle(source) : undefined;
  if (single !== undefined && index === undefined && id === undefined) return single;
  const set = (await loadInstanceSet(source, familyByName("mapf-frozenlake"), id === undefined ? (index ?? 1) : undefined)) as Instance[];
  const found = id === undefined ? set[(index ?? 1) - 1] : set.find((instance) => instance.id === id);
  if (found !== undefined) return found;
  throw id === undefined
    ? mistake(`${source} has ${set.length} instances, there is no number ${index ?? 1}`, index, `1 to ${set.length}`)
    : mistake(`${source} has no instance "${id}"`, id, "the id of one of its instances");
}

async function firstIfSingle(source: string): Promise<Named | undefined> {
  for await (const rows of readRows(source)) {
    if (rows.length !== 1) return undefined;
    const id = (rows[0] as { id?: unknown }).id;
    const board = parseWith(boardSchema, rows[0], source, InputError);
    return typeof id === "string" ? { ...board, id } : board;
  }
  return undefined;
}

interface Drawn {
  plan?: DrawnPlan;
  caption?: string;
}

async function planOf(
  board: Named,
  values: { plan: string | undefined; objective: string; completion: string | undefined; rendering: "chat" | "compact" },
): Promise<Drawn> {
  if (values.plan === "none") return {};
  if (values.completion !== undefined) {
    const { text, finish } = await answerOf(board, values.completion);
    const plan = readAnswer(board, text, finish, values.rendering);
    return "code" in plan ? { caption: `${plan.code}: ${plan.reason}` } : { plan };
  }
  const objective = values.objective.replaceAll("-", "_") as Objective;
  const result = solve(board, { objectives: [objective] });
  const actions = result.plans[objective];
  if (actions === undefined) {
    throw mistake(
      `the board has no optimal plan to draw: ${result.status}`,
      board,
      "a board with a solution",
      "--plan none draws it alone",
    );
  }
  return { plan: { layout: "actions", agents: actions }, caption: `optimal ${values.objective.replaceAll("-", " ")} ${result[objective]}` };
}

async function answerOf(board: Named, file: string): Promise<{ text: string; finish: "stop" | "length" }> {
  if (![".jsonl", ".parquet"].includes(extname(file).toLowerCase())) {
    const text = await readFile(file, "utf8").catch((cause) => {
      throw new InputError({
        message: `${file}: cannot be read`,
        value: file,
        expected: "a text file with the answer",
        remedy: "check the path",
        cause,
      });
    });
    return { text, finish: "stop" };
  }
  for await (const rows of readRows(file)) {
    for (const row of rows) {
      const record = parseWith(completionSchema, row, file, InputError);
      if (record.instance === board.id) return { text: record.completion, finish: record.finish_reason };
    }
  }
  throw mistake(`${file} has no completion for the instance ${board.id ?? "(without an id)"}`, file, "a line whose instance is the id");
}

function mistake(message: string, value: unknown, expected: string, remedy = "envwright draw --help shows examples"): InputError {
  return new InputError({ message, value, expected, remedy });
}
