/**
 * `envwright draw`: a board, or a plan on it, as a picture. The plan is an optimal one, or a model's answer judged by the verifier, from a
 * file or from a run's rollout, or both beside each other: every broken rule stands in the picture at its step and cells, and the verdict
 * is printed. The ending of `--out` says what is made.
 */
import { mkdir } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { counted, type FinishReason, InputError, parseWith, type Rendering, type Verdict } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { type Board, boardSchema, hashBoard, type Instance, type Objective, type Optimum, optimumSchema, solve, verify } from "../../environments/mapf-frozenlake/index.js"; // biome-ignore format: one line
import {
  animatedBesideSvg,
  animatedSvg,
  type BesideOptions,
  besideSvg,
  boardSvg,
  type DrawnPlan,
  type Panel,
  type PictureOptions,
  planSvg,
  readAnswer,
  replay,
  THEMES,
  type Theme,
} from "../../pictures/index.js";
import { isRowFile, readRows, writeFileAtomic } from "../../store/index.js";
import { InstanceFinder, readCompletions } from "../completions.js";
import { defineVerb } from "../define-verb.js";
import { loadInstanceSet } from "../instance-sets.js";
import { FORCE_OPTION, requireNewFile } from "../new-file.js";
import { readText } from "../recipes.js";
import { storedRollout } from "../stored-rollout.js";
import { verdictLine } from "../verdict-line.js";

/** An instance of a set, or a board alone: that need not have a solution to be drawn, nor an id. */
type Named = Board & { id?: string; hash?: string; optimum?: Optimum };

const KINDS = [".svg", ".png", ".gif"] as const;
const PLANS = ["optimal", "answer", "both", "none"] as const;

export default defineVerb({
  name: "draw",
  description: "Draw a board or a plan: SVG, animated SVG, PNG or GIF",
  options: {
    source: { type: "positional", hint: "SET|FILE", description: "Benchmark set, or instances or one board: .json, .jsonl, .parquet; none with --run" }, // biome-ignore format: one line
    index: { type: "integer", hint: "N", least: 1, description: "Which instance, from 1 (default 1)" },
    id: { type: "text", hint: "ID", description: "Which instance, by its id" },
    run: { type: "text", hint: "DIR", description: "Draw a rollout of this run or evaluation: its board, the optimum and the answer" },
    rollout: { type: "text", hint: "ID", description: "Which rollout of --run, e.g. 3/validation/0/7/0, 3/train/12/0/1 or eval/7/0" },
    plan: { type: "choice", of: PLANS, description: "Draw an optimal plan (the default), the answer (with --completion), both beside each other (with --run), or the board alone" }, // biome-ignore format: one line
    objective: {
      type: "choice",
      of: ["makespan", "sum-of-costs"],
      description: "What the optimal plan is optimal in (default makespan, with --run the run's)",
    },
    completion: { type: "text", hint: "FILE", description: "Draw this answer: a text file, or completions as verify takes them (.jsonl, .json, .parquet), of which the instance's first counts" }, // biome-ignore format: one line
    rendering: { type: "choice", of: ["chat", "compact"], description: "Language of the answer (default chat, with --run the run's)" },
    animate: { type: "flag", description: "An SVG that moves; a GIF always does" },
    theme: { type: "choice", of: THEMES, default: "auto", description: "auto follows the reader's setting; PNG and GIF are then light" },
    out: { type: "text", hint: "PICTURE", required: true, description: "File to write: .svg, .png or .gif" },
    force: FORCE_OPTION,
  },
  examples: [
    ["envwright draw bench-3 --index 7 --out plan.svg", "an optimal plan, with arrows"],
    ["envwright draw bench-3 --index 7 --animate --out moving.svg", "the same, moving"],
    ["envwright draw boards.jsonl --index 1 --completion answer.txt --out answer.gif", "an answer, with what it breaks"],
    ["envwright draw --run runs/tiny --rollout 0/validation/0/7/0 --out rollout.svg", "a run's rollout: the optimum and the policy's plan"],
    ["envwright draw board.json --plan none --theme dark --out board.png", "a board alone"],
  ],
  async run(values, { print, note }) {
    const kind = kindOf(values.out);
    requireNewFile(values.out, values.force);
    if (values.animate && kind === ".png") throw mistake("--animate: a PNG does not move", values.out, "a name that ends in .svg or .gif");
    const asked = await questionOf(values);
    const { name, board, answer } = asked;
    const theme = values.theme as Theme;
    const plan = values.plan ?? (answer === undefined ? "optimal" : values.run === undefined ? "answer" : "both");
    const isAnswered = plan === "answer" || plan === "both";
    if (answer === undefined && isAnswered) {
      throw mistake(
        `--plan ${plan}: there is no answer`,
        plan,
        "an answer to draw",
        "give --completion FILE, or --run DIR with --rollout ID",
      );
    }
    if (values.completion !== undefined && (plan === "optimal" || plan === "none")) {
      throw mistake(`--completion is not drawn with --plan ${plan}`, plan, "--plan answer or --plan both", "leave one of them out");
    }
    const optimal = plan === "optimal" || plan === "both" ? optimum(board, asked.objective) : undefined;
    const drawn = isAnswered ? answered(board, answer!, plan === "both") : optimal;
    const moves = kind === ".gif" || values.animate;
    if (moves && drawn?.plan === undefined && plan !== "both") {
      throw mistake(drawn?.caption ?? "a board alone does not move", values.out, "a plan to animate, or a still picture");
    }
    await mkdir(dirname(values.out), { recursive: true });
    const caption = drawn?.caption;
    const title = caption === undefined ? name : `${name}: ${caption}`;
    const picture =
      plan === "both"
        ? await beside(panelsOf(board, [optimal!, drawn!]), { title, theme }, moves, kind)
        : await single(board, drawn?.plan, { title, theme, ...(caption === undefined ? {} : { caption }) }, moves, kind);
    await writeFileAtomic(values.out, picture);
    note(`${values.out}: ${title}`);
    if (isAnswered) print(verdictLine(name, verdictOf(board, answer!)));
  },
});

type Kind = (typeof KINDS)[number];

async function single(board: Board, plan: DrawnPlan | undefined, options: PictureOptions, moves: boolean, kind: Kind) {
  if (kind === ".gif") return (await import("../../pictures/raster.js")).animatedGif(board, plan!, options);
  const svg = plan === undefined ? boardSvg(board, options) : moves ? animatedSvg(board, plan, options) : planSvg(board, plan, options);
  return kind === ".svg" ? svg : (await import("../../pictures/raster.js")).pngOf(svg);
}

async function beside(panels: readonly Panel[], options: BesideOptions, moves: boolean, kind: Kind) {
  if (kind === ".gif") return (await import("../../pictures/raster.js")).animatedBesideGif(panels, options);
  const svg = moves ? animatedBesideSvg(panels, options) : besideSvg(panels, options);
  return kind === ".svg" ? svg : (await import("../../pictures/raster.js")).pngOf(svg);
}

function panelsOf(board: Board, drawn: readonly Drawn[]): Panel[] {
  return drawn.map(({ plan, caption }) => ({ board, caption: caption ?? "", ...(plan === undefined ? {} : { plan }) }));
}

interface Answer {
  text: string;
  finish: FinishReason;
  rendering: Rendering;
}

/** What is to be drawn: a board, and an answer where there is one. */
interface Question {
  name: string;
  board: Named;
  answer: Answer | undefined;
  objective: Objective;
}

interface Given {
  source: string | undefined;
  index: number | undefined;
  id: string | undefined;
  run: string | undefined;
  rollout: string | undefined;
  completion: string | undefined;
  rendering: Rendering | undefined;
  objective: string | undefined;
}

async function questionOf({ source, index, id, run, rollout, completion, rendering, objective }: Given): Promise<Question> {
  const chosenObjective = objective?.replaceAll("-", "_") as Objective | undefined;
  if (run !== undefined || rollout !== undefined) {
    if (run === undefined || rollout === undefined) {
      throw mistake(
        run === undefined ? "--rollout is given without --run" : `--run ${run}: which of its rollouts?`,
        run ?? rollout,
        "--run DIR and --rollout ID, e.g. --run runs/tiny --rollout 0/validation/0/7/0",
        run === undefined ? "name the folder of the run" : `envwright ui ${run} lists the rollouts with their ids`,
      );
    }
    const also = [source, index, id, completion].find((value) => value !== undefined);
    if (also !== undefined) throw mistake("a rollout has its own board and answer", also, "--run and --rollout alone");
    const found = await storedRollout(run, rollout);
    return {
      name: rollout,
      board: found.board,
      answer: { text: found.completion, finish: found.finish, rendering: rendering ?? found.rendering },
      objective: chosenObjective ?? found.objective,
    };
  }
  if (source === undefined) throw mistake("SET|FILE is missing", source, "a set, a file, or --run DIR --rollout ID");
  const isText = completion !== undefined && !isRowFile(completion);
  const { boards, row } = await chosen(source, index, id, completion !== undefined && !isText);
  const board = boards[row]!;
  const text = isText ? { text: readText(completion, "a text file with the answer"), finish: "stop" as const } : undefined;
  const given = text ?? (completion === undefined ? undefined : await answerOf(boards, row, source, completion));
  return {
    name: board.id ?? source,
    board,
    answer: given === undefined ? undefined : { ...given, rendering: rendering ?? "chat" },
    objective: chosenObjective ?? "makespan",
  };
}

function kindOf(out: string): Kind {
  const kind = KINDS.find((k) => k === extname(out).toLowerCase());
  if (kind === undefined) throw mistake(`${out} does not say what to make`, out, `a name that ends in ${KINDS.join(", ")}`);
  return kind;
}

interface Chosen {
  boards: readonly Named[];
  /** Of the one to draw, from 0. */
  row: number;
}

/** A set's instances are complete. Read to the chosen one, or `whole`: an id may stand on a later board as well. */
async function chosen(source: string, index: number | undefined, id: string | undefined, whole: boolean): Promise<Chosen> {
  if (index !== undefined && id !== undefined) throw mistake("--index and --id are both given", id, "one of them");
  const single = extname(source) === ".json" ? await firstIfSingle(source) : undefined;
  if (single !== undefined && index === undefined && id === undefined) return { boards: [single], row: 0 };
  const limit = id === undefined && !whole ? (index ?? 1) : undefined;
  const boards = (await loadInstanceSet(source, familyByName("mapf-frozenlake"), limit)) as Instance[];
  const row = id === undefined ? (index ?? 1) - 1 : boards.findIndex((instance) => instance.id === id);
  if (boards[row] !== undefined) return { boards, row };
  throw id === undefined
    ? mistake(`${source} has ${counted(boards.length, "instance")}, there is no number ${index ?? 1}`, index, `1 to ${boards.length}`)
    : mistake(`${source} has no instance "${id}"`, id, "the id of one of its instances");
}

async function firstIfSingle(source: string): Promise<Named | undefined> {
  for await (const rows of readRows(source)) {
    if (rows.length !== 1) return undefined;
    const [row] = rows;
    const board = parseWith(boardSchema, row, source, InputError, "a board {size, holes, agents: [{start, goal}, …]}");
    const { id, optimum } = row as { id?: unknown; optimum?: unknown };
    const recorded = optimumSchema.safeParse(optimum);
    return { ...board, ...(typeof id === "string" ? { id } : {}), ...(recorded.success ? { optimum: recorded.data } : {}) };
  }
  return undefined;
}

interface Drawn {
  plan?: DrawnPlan;
  caption?: string;
}

/** The plan of an answer, or why it has none. Beside another plan it says in a few words what became of it. */
function answered(board: Board, { text, finish, rendering }: Answer, short: boolean): Drawn {
  const plan = readAnswer(board, text, finish, rendering);
  if ("code" in plan) return { caption: `${short ? "answer: " : ""}${plan.code}: ${plan.reason}` };
  if (!short) return { plan };
  const { broken, positions } = replay(board, plan);
  const [first] = broken;
  return {
    plan,
    caption: `answer: ${first === undefined ? `valid, ${positions.length - 1} steps` : `${first.rule} at step ${first.step}`}`,
  };
}

function optimum(board: Board, objective: Objective): Drawn {
  const result = solve(board, { objectives: [objective] });
  const actions = result.plans[objective];
  if (actions !== undefined) {
    return { plan: { layout: "actions", agents: actions }, caption: `optimal ${objective.replaceAll("_", " ")} ${result[objective]}` };
  }
  throw mistake(`the board has no optimal plan to draw: ${result.status}`, board, "a board with a solution", "--plan none draws it alone");
}

/** The verifier's word on an answer. A board alone has no certified optimum that its costs could be compared with. */
function verdictOf(board: Named, { text, finish, rendering }: Answer): Verdict {
  const { optimum } = board;
  const instance = { id: "", optimum: NO_OPTIMUM, conflict: false, wait_required: false, seed: "", hash: "", ...board };
  const verdict = verify(instance, text, finish, rendering);
  return optimum === undefined ? { ...verdict, optima: {} } : verdict;
}

const NO_OPTIMUM: Optimum = { sum_of_costs: 0, makespan: 0, sum_of_shortest: 0 };

/** The first completion of the board in `row`, found as `verify` finds it. */
async function answerOf(boards: readonly Named[], row: number, source: string, file: string): Promise<Omit<Answer, "rendering">> {
  const known = boards.map((board) => {
    const { hash = hashBoard(board) } = board;
    return { ...board, hash, id: board.id ?? hash };
  });
  const finder = new InstanceFinder(known, source, familyByName("mapf-frozenlake"));
  for await (const completion of readCompletions(file)) {
    if (!finder.isOf(row, completion)) continue;
    const { at, text, ending } = completion;
    if ("finish" in ending) return { text, finish: ending.finish };
    throw mistake(`${at}: ${ending.problem}`, file, "an answer of the model", "take the line out, or ask for the answer again");
  }
  throw mistake(
    `${file} has no completion for the instance ${known[row]!.id}, row ${row + 1} of ${source}`,
    file,
    `a line whose instance is that id, or the line number ${row + 1}`,
  );
}

function mistake(message: string, value: unknown, expected: string, remedy = "envwright draw --help shows examples"): InputError {
  return new InputError({ message, value, expected, remedy });
}
