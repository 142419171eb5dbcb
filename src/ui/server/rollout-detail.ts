/**
 * One rollout with everything to look at it: the prompt, the answer, the verdict, the board, and where every agent is at every time under the
 * model's plan and under an optimal one. Reads plans with the verifier's own parsers, so that what is drawn is what was judged.
 */
import { type InstanceBase, type Rendering, type Rollout, rolloutSchema } from "../../core/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { optimalPlan } from "../../environments/mapf-frozenlake/demonstrate.js";
import { type Instance, instanceSchema, type Objective } from "../../environments/mapf-frozenlake/index.js";
import { animatedSvg, brokenSentence, type DrawnPlan, readAnswer, replay } from "../../pictures/index.js";
import { animatedGif } from "../../pictures/raster.js";
import { recordOf } from "../../store/columns.js";
import { openDuckDB } from "../../store/duckdb.js";
import type { RunFolder } from "../../store/index.js";
import type { Cell, RolloutDetail, RolloutSet, Track } from "../records.js";
import { rolloutFiles } from "./rollout-tables.js";

interface Found {
  rollout: Rollout;
  instance: InstanceBase | undefined;
  /** The instance, where it is a board. */
  board: Instance | undefined;
  family: AnyFamily;
  objective: string;
}

async function find(folder: RunFolder, set: RolloutSet, stage: number, id: string): Promise<Found | undefined> {
  const { recipe } = folder.record;
  const paths = await rolloutFiles(folder, set, [stage]);
  const row = await firstRow(paths.rollouts, id);
  if (row === undefined) return undefined;
  const rollout = rolloutSchema.parse(row);
  const family = familyByName(recipe.family);
  const found = await firstRow(paths.boards, rollout.instance);
  const instance = found === undefined ? undefined : family.instanceSchema.parse(found);
  const objective = family.objective(family.configSchema.parse(recipe.config));
  const board = family.name === "mapf-frozenlake" && instance !== undefined ? instanceSchema.parse(instance) : undefined;
  return { rollout, instance, board, family, objective };
}

/** A plan as a file that moves; undefined where there is no such rollout, board or plan. */
export async function rolloutPicture(
  folder: RunFolder,
  set: RolloutSet,
  stage: number,
  id: string,
  plan: "model" | "optimum",
  format: "svg" | "gif",
): Promise<Uint8Array | string | undefined> {
  const found = await find(folder, set, stage, id);
  if (found?.board === undefined) return undefined;
  const { board, rollout, objective } = found;
  const drawn = plan === "model" ? modelPlan(board, rollout, folder.record.recipe.rendering) : optimalActions(board, objective);
  if (drawn === null) return undefined;
  const title = `${plan === "model" ? "Plan of the policy" : `Optimal plan (${objective.replaceAll("_", " ")})`}, ${rollout.instance}`;
  return format === "svg" ? animatedSvg(board, drawn, { title }) : animatedGif(board, drawn, { title });
}

export async function rolloutDetail(
  folder: RunFolder,
  run: string,
  set: RolloutSet,
  stage: number,
  id: string,
): Promise<RolloutDetail | undefined> {
  const found = await find(folder, set, stage, id);
  if (found === undefined) return undefined;
  const { rollout, instance, board, family, objective } = found;
  const { recipe } = folder.record;
  const model = board === undefined ? null : modelPlan(board, rollout, recipe.rendering);
  const { verdict, reward, advantage, failure } = rollout;
  return {
    run,
    set,
    id: rollout.id,
    stage: rollout.stage,
    step: rollout.step,
    sample: rollout.sample,
    instance: rollout.instance,
    stratum: rollout.stratum,
    objective,
    completion: rollout.completion,
    finish_reason: rollout.finish_reason,
    tokens: rollout.tokens,
    prompt: instance === undefined ? "" : family.prompt(instance, recipe.rendering),
    verdict: verdict ?? null,
    reward: reward ?? null,
    advantage: advantage ?? null,
    failure: failure === undefined ? null : { boundary: failure.boundary, message: failure.message },
    board: board === undefined ? null : boardFacts(board),
    model: board === undefined || model === null ? null : trackOf(board, model),
    optimum: board === undefined ? null : trackOf(board, optimalActions(board, objective)),
    other: board === undefined && instance !== undefined ? JSON.stringify(instance, undefined, 2) : null,
  };
}

function boardFacts({ size, holes, agents, optimum, conflict, wait_required, hash }: Instance): RolloutDetail["board"] {
  return { size, holes, agents, optimum, conflict, wait_required, hash };
}

async function firstRow(paths: readonly string[], id: string): Promise<Record<string, unknown> | undefined> {
  if (paths.length === 0) return undefined;
  const duckdb = await openDuckDB();
  try {
    const list = paths.map((p) => `'${p.replaceAll("'", "''")}'`).join(", ");
    const result = await duckdb.connection.runAndReadAll(`SELECT * FROM read_parquet([${list}]) WHERE id = $1 LIMIT 1`, [id]);
    const row = result.getRowObjectsJS()[0];
    return row === undefined ? undefined : recordOf(row, result.columnNames(), result.columnTypes());
  } finally {
    duckdb.close();
  }
}

/** Null where the answer holds no plan. */
function modelPlan(board: Instance, rollout: Rollout, rendering: Rendering): DrawnPlan | null {
  const plan = readAnswer(board, rollout.completion, rollout.finish_reason, rendering);
  return "code" in plan ? null : plan;
}

function optimalActions(board: Instance, objective: string): DrawnPlan {
  return { layout: "actions", agents: optimalPlan(board, objective as Objective) };
}

function trackOf(board: Instance, plan: DrawnPlan): Track {
  const { positions, broken } = replay(board, plan);
  return {
    positions: positions.map((cells) => cells.map(([row, column]): Cell => [row, column])),
    broken: broken.map((b) => ({
      rule: b.rule,
      step: b.step,
      agents: [...b.agents],
      cell: [b.cell[0], b.cell[1]],
      other: b.other === undefined ? null : [b.other[0], b.other[1]],
      sentence: brokenSentence(b),
    })),
  };
}
