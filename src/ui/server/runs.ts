/**
 * Runs as the page shows them: the list, and one run in full. What has been read stays in memory until a file of the run changes; the list of
 * a large folder is read once. A run whose files cannot be read is listed with the reason.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  CorruptFileError,
  EnvwrightError,
  type KnobTable,
  type Metrics,
  parseJsonWith,
  SCHEMA_VERSION,
  shellWord,
} from "../../core/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { buildReport, isFinished, type RunHistory, type RunReport, readHistory } from "../../evaluation/index.js";
import { RunFolder } from "../../store/index.js";
import type { FamilyFacts, RunDetail, RunEntry, StageFacts, StepPoint } from "../records.js";
import { sizeOf } from "./event-tail.js";
import type { ServedRoot } from "./root.js";
import { currentPhase, lastEvent, stateOf } from "./run-state.js";

interface Known {
  signature: string;
  /** While it is read, those who ask for it at once wait for the same reading. */
  read: Promise<Read>;
}

interface Read {
  folder: RunFolder;
  history: RunHistory;
  report: RunReport;
}

/** Runs kept in memory: with 8 stages and 3,000 validation boards each takes less than a megabyte. */
const KEPT = 64;

export class RunShelf {
  private readonly known = new Map<string, Known>();
  private readonly metricsOf = new Map<string, { size: number; metrics: Metrics[] }>();
  private readonly outlines = new Map<string, Outline & { signature: string }>();
  constructor(readonly root: ServedRoot) {}

  async open(id: string): Promise<Read & { dir: string }> {
    const dir = this.root.folder("run", id);
    const signature = await signatureOf(dir);
    let known = this.known.get(dir);
    if (known === undefined || known.signature !== signature) {
      const read = RunFolder.open(dir).then(async (folder) => {
        const history = await readHistory(folder);
        return { folder, history, report: buildReport(history, familyByName(history.recipe.family).stratumLabel) };
      });
      known = { signature, read };
    }
    this.known.delete(dir);
    this.known.set(dir, known);
    for (const oldest of this.known.keys()) if (this.known.size > KEPT) this.known.delete(oldest);
    try {
      return { dir, ...(await known.read) };
    } catch (error) {
      if (this.known.get(dir) === known) this.known.delete(dir);
      throw error;
    }
  }

  async list(): Promise<RunEntry[]> {
    const entries: RunEntry[] = [];
    for (const id of await this.root.ids("run")) entries.push(await this.entry(id));
    return entries.sort((a, b) => (b.updated ?? "").localeCompare(a.updated ?? ""));
  }

  /** Reads what is most likely looked at first, the list and the newest run, so that its first reader does not wait for files and cold code. */
  async warm(): Promise<void> {
    const newest = (await this.list()).find(({ problem }) => problem === null);
    if (newest !== undefined) await this.detail(newest.id);
  }

  private async entry(id: string): Promise<RunEntry> {
    try {
      const dir = this.root.folder("run", id);
      const signature = await signatureOf(dir);
      let outline = this.outlines.get(dir);
      if (outline === undefined || outline.signature !== signature) {
        outline = { signature, ...(await readOutline(dir)) };
        this.outlines.set(dir, outline);
      }
      const { recipe, seed, valid, stages, heldOut } = outline;
      const finished = stages.finished === recipe.stages && stages.diagnosed && (recipe.held_out.count === 0 || heldOut);
      const state = await stateOf(dir, finished, stages.newest);
      const [started, updated] = await Promise.all([timeOf(join(dir, "run.json")), timeOf(join(dir, "events.jsonl"))]);
      return {
        id,
        state,
        recipe: recipe.name,
        engineer: recipe.engineer.name,
        variant: recipe.engineer.variant,
        seed,
        stages: { planned: recipe.stages, finished: stages.finished },
        valid,
        best: valid.length === 0 ? null : Math.max(...valid),
        last: valid.at(-1) ?? null,
        started,
        updated,
        problem: state === "failed" ? await failure(dir) : null,
      };
    } catch (error) {
      const problem = error instanceof EnvwrightError ? error.explain() : String((error as Error).message);
      return { ...UNREADABLE, id, problem };
    }
  }

  /** Read again when the file has grown. */
  private async metrics(dir: string, folder: RunFolder): Promise<Metrics[]> {
    const size = await sizeOf(join(dir, "metrics.jsonl"));
    let read = this.metricsOf.get(dir);
    if (read === undefined || read.size !== size) {
      read = { size, metrics: await folder.readMetrics() };
      this.metricsOf.clear();
      this.metricsOf.set(dir, read);
    }
    return read.metrics;
  }

  async detail(id: string): Promise<RunDetail> {
    // The offset is taken first: what is appended while the records are read comes by the stream, twice rather than never.
    const offset = await sizeOf(join(this.root.folder("run", id), "events.jsonl"));
    const { dir, folder, history, report } = await this.open(id);
    const family = familyByName(folder.record.recipe.family);
    const state = await stateOf(dir, isFinished(history), history.stages.at(-1)?.index);
    return {
      id,
      state,
      problem: state === "failed" ? await failure(dir) : null,
      resume: `envwright run --resume ${shellWord(dir)}`,
      family: familyFacts(family),
      report,
      stages: history.stages.map((stage): StageFacts => {
        const strata = Object.entries(stage.dataset?.strata ?? {});
        return {
          index: stage.index,
          provenance: stage.config.provenance,
          requested: family.knobTable(stage.config.normalised),
          realised: Object.fromEntries(strata.map(([name, { realised }]) => [name, realised])) as KnobTable,
          repairs: stage.config.repairs.length,
          training: stage.training ?? null,
          codes: stage.validation?.total.codes ?? null,
        };
      }),
      steps: (await this.metrics(dir, folder)).map(
        (m): StepPoint => ({
          stage: m.stage,
          step: m.step,
          reward: m.reward ?? 0,
          accuracy: m["rewards/accuracy"] ?? 0,
          length: m["rewards/length"] ?? 0,
          weight: m.accuracy_weight ?? 0,
          valid: m.valid ?? 0,
          entropy: m.entropy ?? null,
        }),
      ),
      steps_per_stage: folder.record.recipe.trainer.grpo.steps,
      now: state === "running" || state === "waiting" ? await currentPhase(dir) : null,
      offset,
    };
  }
}

const UNREADABLE: Omit<RunEntry, "id" | "problem"> = {
  state: "failed",
  recipe: "",
  engineer: "",
  variant: "",
  seed: 0,
  stages: { planned: 0, finished: 0 },
  valid: [],
  best: null,
  last: null,
  started: null,
  updated: null,
};

/** The little of a run that the list shows. */
const outlineSchema = z.object({
  schema_version: z.literal(SCHEMA_VERSION, { error: `a run of another version of the records (this program reads ${SCHEMA_VERSION})` }),
  seed: z.number(),
  recipe: z.object({
    name: z.string(),
    stages: z.number(),
    engineer: z.object({ name: z.string(), variant: z.string() }),
    held_out: z.object({ count: z.number() }),
  }),
});
const validSchema = z.object({ total: z.object({ valid: z.object({ rate: z.number() }) }) });
type Outline = Omit<z.infer<typeof outlineSchema>, "schema_version"> & {
  valid: number[];
  /** `diagnosed`: whether the newest one's failures are summed up. */
  stages: { finished: number; newest: number | undefined; diagnosed: boolean };
  heldOut: boolean;
};

/** Without checksums and whole records: a folder of a hundred runs is listed in a second. One run, opened, is read with all of them. */
async function readOutline(dir: string): Promise<Outline> {
  const parse = async <T>(path: string, schema: z.ZodType<T>): Promise<T> =>
    parseJsonWith(schema, await readFile(join(dir, path), "utf8"), join(dir, path), CorruptFileError);
  const { recipe, seed } = await parse("run.json", outlineSchema);
  const names = (await readdir(join(dir, "stages")).catch(() => [])).filter((n) => /^\d+$/.test(n)).sort((a, b) => Number(a) - Number(b));
  const reports = names.map((name) => join("stages", name, "validation.json")).filter((path) => existsSync(join(dir, path)));
  const base = existsSync(join(dir, "base-validation.json")) ? ["base-validation.json"] : [];
  const valid: number[] = [];
  for (const path of [...base, ...reports]) valid.push((await parse(path, validSchema)).total.valid.rate);
  const newest = names.at(-1);
  return {
    recipe,
    seed,
    valid,
    stages: {
      finished: reports.length,
      newest: newest === undefined ? undefined : Number(newest),
      diagnosed: newest !== undefined && existsSync(join(dir, "stages", newest, "failures.json")),
    },
    heldOut: existsSync(join(dir, "held-out-last.json")),
  };
}

export function familyFacts(family: AnyFamily): FamilyFacts {
  const { name, stratumLabel, knobs, failureCodes } = family;
  return { name, stratumLabel, knobs: [...knobs], failureCodes: [...failureCodes], boards: name === "mapf-frozenlake" };
}

/** Changes when a finished file of the run does: manifests are replaced whole, so their times and sizes say it. */
async function signatureOf(dir: string): Promise<string> {
  const stages = await readdir(join(dir, "stages")).catch(() => []);
  const paths = ["run.json", "manifest.json", ...stages.map((s) => join("stages", s, "manifest.json"))];
  const marks = await Promise.all(
    paths.map((path) =>
      stat(join(dir, path)).then(
        (s) => `${path}:${s.mtimeMs}:${s.size}:${s.ino}`,
        () => `${path}:none`,
      ),
    ),
  );
  return marks.join("|");
}

async function timeOf(path: string): Promise<string | null> {
  return stat(path).then(
    (s) => s.mtime.toISOString(),
    () => null,
  );
}

async function failure(dir: string): Promise<string | null> {
  const last = await lastEvent(dir);
  return last?.type === "run-failed" ? `${last.boundary}: ${last.message}` : null;
}
