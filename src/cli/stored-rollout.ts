/**
 * One rollout of a run or an evaluation on disk, by its id, with the board it answers: what `draw --run` begins with. The id names its
 * place (`0/train/3/12/1`, `0/validation/0/7/0`, `eval/7/0`), so that one file is searched. Reads only.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type FinishReason, InputError, type Rendering } from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { type Instance, instanceSchema, type Objective } from "../environments/mapf-frozenlake/index.js";
import { findParquetRow, RUN_FILE, RunFolder, readRows } from "../store/index.js";
import { openEvaluation, renderingOf } from "./evaluation-run.js";
import { loadInstanceSet } from "./instance-sets.js";
import { openMapping } from "./row-mapping.js";

export interface StoredRollout {
  id: string;
  board: Instance;
  completion: string;
  finish: FinishReason;
  rendering: Rendering;
  objective: Objective;
}

/** @throws {InputError} for a folder, a family or an id of another kind */
export function storedRollout(dir: string, id: string): Promise<StoredRollout> {
  return existsSync(join(dir, RUN_FILE)) ? ofRun(dir, id) : ofEvaluation(dir, id);
}

async function ofRun(dir: string, id: string): Promise<StoredRollout> {
  const folder = await RunFolder.open(dir);
  const { recipe } = folder.record;
  const family = boardFamily(recipe.family, dir);
  const [, stage, purpose] = /^(\d+)\/(train|validation)\//.exec(id) ?? [];
  const stages = await folder.stages();
  if (stage === undefined || !stages.includes(Number(stage))) {
    throw unknownRollout(dir, id, `an id such as ${stages[0] ?? 0}/validation/0/7/0 or ${stages[0] ?? 0}/train/3/0/1, of stage ${stages.join(", ")}`); // biome-ignore format: one line
  }
  const own = Number(stage);
  const [rollouts, boards] =
    purpose === "train"
      ? [folder.path(own, "rollouts.parquet"), folder.path(own, "train.parquet")]
      : [folder.path(own, "validation-rollouts.parquet"), folder.path("run", "validation.parquet")];
  const rollout = await findParquetRow(rollouts, "id", id);
  if (rollout === undefined) throw unknownRollout(dir, id, `an id that stands in ${rollouts}`);
  const board = await findParquetRow(boards, "id", String(rollout.instance));
  if (board === undefined) throw unknownRollout(dir, id, `the instance ${rollout.instance} in ${boards}`);
  return {
    id,
    board: instanceSchema.parse(board),
    completion: String(rollout.completion),
    finish: rollout.finish_reason as FinishReason,
    rendering: recipe.rendering,
    objective: family.objective(family.configSchema.parse(recipe.config)) as Objective,
  };
}

async function ofEvaluation(dir: string, id: string): Promise<StoredRollout> {
  const request = await openEvaluation(dir);
  const family = boardFamily(request.family, dir);
  const file = join(dir, "rollouts.jsonl");
  for await (const rows of readRows(file)) {
    for (const row of rows as { id?: unknown; instance?: unknown; completion?: unknown; finish_reason?: unknown }[]) {
      if (row.id !== id) continue;
      const set = (await loadInstanceSet(request.set, family, request.limit, openMapping(request.map, family))) as Instance[];
      const board = set.find((instance) => instance.id === row.instance);
      if (board === undefined || typeof row.completion !== "string") {
        throw unknownRollout(dir, id, board === undefined ? `the instance ${row.instance} in ${request.set}` : "a rollout with an answer");
      }
      return {
        id,
        board,
        completion: row.completion,
        finish: row.finish_reason === "length" ? "length" : "stop",
        rendering: renderingOf(request),
        objective: request.objective as Objective,
      };
    }
  }
  throw unknownRollout(dir, id, `an id that stands in ${file}, such as eval/0/0`);
}

function boardFamily(name: string, dir: string) {
  if (name === "mapf-frozenlake") return familyByName(name);
  throw new InputError({
    message: `${dir}: the instances of ${name} are no boards to draw`,
    value: name,
    expected: "a run or an evaluation on mapf-frozenlake",
    remedy: "look at its rollouts with envwright ui",
  });
}

function unknownRollout(dir: string, id: string, expected: string): InputError {
  return new InputError({
    message: `${dir} has no rollout "${id}" to draw`,
    value: id,
    expected,
    remedy: `envwright ui ${dir} lists the rollouts with their ids`,
  });
}
