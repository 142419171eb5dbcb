/**
 * The evaluations of the served folder, with paired differences on the same boards. A report is read once until it changes, and two reports are
 * compared once: intervals are bootstrapped, and the page asks again and again.
 */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { CorruptFileError, EnvwrightError, parseJsonWith } from "../../core/index.js";
import {
  compareSetReports,
  instanceCount,
  isPartial,
  PUBLISHED,
  PUBLISHED_SOURCE,
  type SetReport,
  setReportSchema,
} from "../../evaluation/index.js";
import type { Benchmarks, Difference, EvaluationEntry } from "../records.js";
import type { ServedRoot } from "./root.js";

interface Known {
  /** Changes when the file does. */
  mark: string;
  entry: EvaluationEntry;
  full: SetReport | null;
}
type Paired = Benchmarks["paired"][number];

export class Evaluations {
  private readonly known = new Map<string, Known>();
  private readonly compared = new WeakMap<SetReport, WeakMap<SetReport, Pick<Paired, "valid" | "optimal">>>();
  constructor(private readonly root: ServedRoot) {}

  /** @param against id of the evaluation that those of its boards are compared with; the first on these boards unless given */
  async benchmarks(against?: string): Promise<Benchmarks> {
    const all: Known[] = [];
    for (const id of await this.root.ids("evaluation")) all.push(await this.read(id));
    const paired = all.flatMap(({ entry, full }): Paired[] => {
      if (full === null) return [];
      const same = all.filter((other) => other.full?.set_sha256 === full.set_sha256 && other.full.objective === full.objective);
      const reference = same.find((other) => other.entry.id === against) ?? same[0]!;
      return reference.full === full ? [] : [{ id: entry.id, reference: reference.entry.id, ...this.compare(reference.full!, full) }];
    });
    return { evaluations: all.map(({ entry }) => entry), paired, published: { source: PUBLISHED_SOURCE, tables: PUBLISHED } };
  }

  private async read(id: string): Promise<Known> {
    const dir = this.root.folder("evaluation", id);
    const path = join(dir, "report.json");
    const mark = await stat(path).then(
      (s) => `${s.mtimeMs}:${s.size}:${s.ino}`,
      () => "none",
    );
    const before = this.known.get(id);
    if (before?.mark === mark) return before;
    const known = { mark, ...(mark === "none" ? unfinished(id, dir) : await readReport(id, path)) };
    this.known.set(id, known);
    return known;
  }

  private compare(reference: SetReport, report: SetReport): Pick<Paired, "valid" | "optimal"> {
    let others = this.compared.get(reference);
    if (others === undefined) {
      others = new WeakMap();
      this.compared.set(reference, others);
    }
    let result = others.get(report);
    if (result === undefined) {
      const { valid, optimal } = compareSetReports(reference, report);
      const shown = ({ difference, interval, n }: Difference): Difference => ({ difference, interval, n });
      result = { valid: shown(valid), optimal: shown(optimal) };
      others.set(report, result);
    }
    return result;
  }
}

function unfinished(id: string, dir: string): Omit<Known, "mark"> {
  return { entry: { id, report: null, problem: `not finished; go on with it: envwright eval --resume ${dir}` }, full: null };
}

async function readReport(id: string, path: string): Promise<Omit<Known, "mark">> {
  try {
    const full = parseJsonWith(setReportSchema, await readFile(path, "utf8"), path, CorruptFileError);
    const { outcomes: _, ...report } = full;
    return { entry: { id, report: { ...report, instances: instanceCount(full), partial: isPartial(full) }, problem: null }, full };
  } catch (error) {
    const problem = error instanceof EnvwrightError ? error.explain() : String((error as Error).message);
    return { entry: { id, report: null, problem }, full: null };
  }
}
