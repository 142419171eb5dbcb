/** The rollouts of a run as tables: which files hold them, and the SELECTs that make one table of columns that people ask for out of them. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { familyByName } from "../../environments/index.js";
import type { RunFolder } from "../../store/index.js";
import { type SqlView, sqlText } from "../../store/read-only-sql.js";
import type { RolloutSet } from "../records.js";
import { sizeOf } from "./event-tail.js";

/** What a rollout table is made from. */
export interface RolloutSource {
  set: RolloutSet;
  /** Parquet files of the rollouts, one a stage. */
  rollouts: readonly string[];
  /** Parquet files of their instances; empty where instances have no agents. */
  boards: readonly string[];
  /** The objective whose optimum counts. */
  objective: string;
}

/** Paths of one set's rollouts and of the instances they answer; only those that are there. */
export async function rolloutFiles(
  folder: RunFolder,
  set: RolloutSet,
  only?: readonly number[],
): Promise<{ rollouts: string[]; boards: string[] }> {
  const name = set === "training" ? "rollouts.parquet" : "validation-rollouts.parquet";
  const stages = (await folder.stages()).filter((stage) => only === undefined || only.length === 0 || only.includes(stage));
  const rollouts = stages.map((stage) => folder.path(stage, name)).filter((path) => existsSync(path));
  const boards = set === "training" ? stages.map((stage) => folder.path(stage, "train.parquet")) : [join(folder.dir, "validation.parquet")];
  return { rollouts, boards: boards.filter((path) => existsSync(path)) };
}

/** The source of one set of this run. */
export async function rolloutSource(folder: RunFolder, set: RolloutSet): Promise<RolloutSource> {
  const { recipe } = folder.record;
  const family = familyByName(recipe.family);
  const { rollouts, boards } = await rolloutFiles(folder, set);
  const objective = family.objective(family.configSchema.parse(recipe.config));
  return { set, rollouts, boards: hasAgents(family.name) ? boards : [], objective };
}

export const hasAgents = (family: string): boolean => family === "mapf-frozenlake";

/** The same source, one file of rollouts alone. */
export function oneFile(source: RolloutSource, path: string): RolloutSource {
  const own = source.set === "training" ? source.boards.filter((board) => dirname(board) === dirname(path)) : source.boards;
  return { ...source, rollouts: [path], boards: own };
}

const STAGE_OF_FILE = "regexp_extract(filename, 'stages[/\\\\](\\d+)[/\\\\]', 1)::INTEGER";
const read = (paths: readonly string[], options = ""): string => `read_parquet([${paths.map(sqlText).join(", ")}]${options})`;

/** Short columns first: those of a rollout's line in the list. `place` is the row in its file, so that rollouts stand as they were sampled. */
export const LISTED =
  "id VARCHAR, instance VARCHAR, stage INTEGER, step INTEGER, sample INTEGER, stratum VARCHAR, agents INTEGER, code VARCHAR, reward DOUBLE, tokens INTEGER, optimal BOOLEAN, failure VARCHAR, place BIGINT";

/** @param more further columns of `r`, a comma before each */
export function listedSql({ set, rollouts, boards, objective }: RolloutSource, more = ""): string {
  // Ids of training instances hold their stage; a folder put together by hand may repeat them, and must not repeat its rollouts.
  const numbered =
    set === "training"
      ? `(SELECT id, len(agents)::INTEGER AS agents, ${STAGE_OF_FILE} AS stage FROM ${read(boards, ", filename = true")}) b ON b.id = r.instance AND b.stage = r.stage`
      : `(SELECT id, len(agents)::INTEGER AS agents FROM ${read(boards)}) b ON b.id = r.instance`;
  return `SELECT r.id, r.instance, r.stage::INTEGER AS stage, r.step::INTEGER AS step, r.sample::INTEGER AS sample, r.stratum,
    ${boards.length === 0 ? "NULL::INTEGER" : "b.agents"} AS agents, coalesce(r.verdict.code, 'no verdict') AS code, r.reward.total AS reward,
    r.tokens::INTEGER AS tokens, r.verdict.optimal[${sqlText(objective)}] AS optimal, r.failure.message AS failure, r.file_row_number AS place${more}
  FROM ${read(rollouts, ", file_row_number = true")} r${boards.length === 0 ? "" : `\n  LEFT JOIN ${numbered}`}`;
}

const MORE =
  ", r.finish_reason, r.advantage, r.reward.accuracy AS accuracy_reward, r.reward.length AS length_reward, r.completion, r.verdict";

/** The rows of `select`, told apart by their set. */
export const ofSet = (set: RolloutSet, select: string): string => `SELECT ${sqlText(set)} AS set, * FROM (\n  ${select})`;

/** What a free query may name: `rollouts` of both sets with everything that is known of each, `instances`, and the training steps. */
export async function runViews(folder: RunFolder): Promise<SqlView[]> {
  const sources = [await rolloutSource(folder, "training"), await rolloutSource(folder, "validation")];
  const filled = sources.filter(({ rollouts }) => rollouts.length > 0);
  const views: SqlView[] = [];
  if (filled.length > 0) {
    views.push({
      name: "rollouts",
      sql: filled.map((source) => ofSet(source.set, listedSql(source, MORE))).join("\nUNION ALL BY NAME\n"),
      files: filled.flatMap(({ rollouts, boards }) => [...rollouts, ...boards]),
    });
  }
  const boards = await Promise.all(
    (["training", "validation"] as const).map(async (set) => ({ set, files: (await rolloutFiles(folder, set)).boards })),
  );
  const instances = boards.filter(({ files }) => files.length > 0);
  if (instances.length > 0) {
    views.push({
      name: "instances",
      sql: instances
        .map(
          ({ set, files }) =>
            `SELECT '${set}' AS set, ${set === "training" ? STAGE_OF_FILE : "NULL::INTEGER"} AS stage, * EXCLUDE (filename) FROM ${read(files, ", filename = true")}`,
        )
        .join("\nUNION ALL BY NAME\n"),
      files: instances.flatMap(({ files }) => files),
    });
  }
  const metrics = join(folder.dir, "metrics.jsonl");
  if ((await sizeOf(metrics)) > 0) {
    // A run that goes on may have half a line at the end.
    const lines = `read_json(${sqlText(metrics)}, format = 'newline_delimited', ignore_errors = true, sample_size = -1)`;
    views.push({ name: "steps", sql: `SELECT * FROM ${lines}`, files: [metrics] });
  }
  return views;
}
