/**
 * One rollout with everything to look at it: the prompt, the answer, the verdict, the board, and where every agent is at every time under the
 * model's plan and under an optimal one. Reads plans with the verifier's own parsers, so that what is drawn is what was judged.
 */
import { type Rendering, rolloutSchema, type Verdict } from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { optimalPlan } from "../../environments/mapf-frozenlake/demonstrate.js";
import {
  ACTIONS,
  type Action,
  COLUMN_STEP,
  type Instance,
  instanceSchema,
  type Objective,
  ROW_STEP,
  stepLimit,
} from "../../environments/mapf-frozenlake/index.js";
import { parseChat } from "../../environments/mapf-frozenlake/parse-chat.js";
import { parseCompact } from "../../environments/mapf-frozenlake/parse-compact.js";
import { PLAN_STRIDE, PlanBuffer } from "../../environments/mapf-frozenlake/plan.js";
import { recordOf } from "../../store/columns.js";
import { openDuckDB } from "../../store/duckdb.js";
import type { RunFolder } from "../../store/index.js";
import type { Cell, RolloutDetail, RolloutSet } from "../records.js";
import { rolloutFiles } from "./rollout-query.js";

export async function rolloutDetail(
  folder: RunFolder,
  run: string,
  set: RolloutSet,
  stage: number,
  id: string,
): Promise<RolloutDetail | undefined> {
  const { recipe } = folder.record;
  const paths = await rolloutFiles(folder, set, [stage]);
  const row = await firstRow(paths.rollouts, "id", id);
  if (row === undefined) return undefined;
  const rollout = rolloutSchema.parse(row);
  const family = familyByName(recipe.family);
  const found = await firstRow(paths.boards, "id", rollout.instance);
  const instance = found === undefined ? undefined : family.instanceSchema.parse(found);
  const objective = family.objective(family.configSchema.parse(recipe.config));
  const board = family.name === "mapf-frozenlake" && instance !== undefined ? instanceSchema.parse(instance) : undefined;
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
    model: board === undefined ? null : modelTrack(board, rollout.completion, rollout.finish_reason, recipe.rendering, verdict),
    optimum: board === undefined ? null : actionTrack(board, optimalPlan(board, objective as Objective)),
    other: board === undefined && instance !== undefined ? JSON.stringify(instance, undefined, 2) : null,
  };
}

function boardFacts({ size, holes, agents, optimum, conflict, wait_required, hash }: Instance): RolloutDetail["board"] {
  return { size, holes, agents, optimum, conflict, wait_required, hash };
}

async function firstRow(paths: readonly string[], column: string, value: string): Promise<Record<string, unknown> | undefined> {
  if (paths.length === 0) return undefined;
  const duckdb = await openDuckDB();
  try {
    const list = paths.map((p) => `'${p.replaceAll("'", "''")}'`).join(", ");
    const result = await duckdb.connection.runAndReadAll(`SELECT * FROM read_parquet([${list}]) WHERE ${column} = $1 LIMIT 1`, [value]);
    const row = result.getRowObjectsJS()[0];
    return row === undefined ? undefined : recordOf(row, result.columnNames(), result.columnTypes());
  } finally {
    duckdb.close();
  }
}

/** Positions by agent and time; null where the answer holds no plan. Agents that are done stay where they are. */
function modelTrack(
  board: Instance,
  completion: string,
  finish: "stop" | "length",
  rendering: Rendering,
  verdict: Verdict | undefined,
): Cell[][] | null {
  if (verdict === undefined || verdict.code === "parse-error" || verdict.code === "truncated") return null;
  const plan = new PlanBuffer();
  const read = rendering === "compact" ? parseCompact : parseChat;
  if (read(completion, finish, board.agents.length, stepLimit(board.size), plan) !== undefined) return null;
  const tracks = board.agents.map(({ start }, agent) => {
    const track: Cell[] = [[start[0], start[1]]];
    for (let step = 0; step < plan.lengths[agent]!; step++) {
      const code = plan.steps[agent * PLAN_STRIDE + step]!;
      const [row, column] = track.at(-1)!;
      track.push(plan.layout === "cells" ? [code >> 4, code & 15] : [row + ROW_STEP[code]!, column + COLUMN_STEP[code]!]);
    }
    return track;
  });
  return padded(tracks);
}

function actionTrack(board: Instance, plan: readonly Action[][]): Cell[][] {
  return padded(
    board.agents.map(({ start }, agent) => {
      const track: Cell[] = [[start[0], start[1]]];
      for (const action of plan[agent] ?? []) {
        const code = ACTIONS.indexOf(action);
        const [row, column] = track.at(-1)!;
        track.push([row + ROW_STEP[code]!, column + COLUMN_STEP[code]!]);
      }
      return track;
    }),
  );
}

function padded(tracks: Cell[][]): Cell[][] {
  const length = Math.max(...tracks.map((t) => t.length));
  return tracks.map((track) => [...track, ...Array.from({ length: length - track.length }, (): Cell => track.at(-1)!)]);
}
