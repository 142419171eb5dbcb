/** A run folder → its report with the measures of its engineer, and that as text. Shared by `run` and `report`. */

import { familyByName } from "../environments/index.js";
import {
  buildReport,
  markdownTable,
  type RunHistory,
  type RunReport,
  readHistory,
  reportMarkdown,
  reportText,
  terminalTable,
} from "../evaluation/index.js";
import { type EngineerMeasures, measureEngineer, measuresTable } from "../experiments/engineer-measures.js";
import { RunFolder } from "../store/index.js";

export type MeasuredReport = RunReport & { measures?: EngineerMeasures };

export async function loadReport(dir: string): Promise<{ history: RunHistory; report: MeasuredReport }> {
  const folder = await RunFolder.open(dir);
  const history = await readHistory(folder);
  const measures = await measureEngineer(folder, history);
  return {
    history,
    report: { ...buildReport(history, familyByName(history.recipe.family).stratumLabel), ...(measures === undefined ? {} : { measures }) },
  };
}

export function renderReport(report: MeasuredReport, markdown: boolean): string {
  const { measures } = report;
  const table = measures === undefined ? [] : [(markdown ? markdownTable : terminalTable)(measuresTable(measures))];
  return [(markdown ? reportMarkdown : reportText)(report), ...table].join("\n\n");
}
