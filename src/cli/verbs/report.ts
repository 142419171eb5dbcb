/** `envwright report`: runs on disk → tables, JSON, Markdown, figures. Reads only; also while a run goes on. */
import { writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { InputError } from "../../core/index.js";
import { compareRuns, comparisonSentence, plotReports, type RunHistory, renderPng } from "../../evaluation/index.js";
import { storageFailure } from "../../store/index.js";
import { defineVerb } from "../define-verb.js";
import { loadReport, type MeasuredReport, renderReport } from "../load-report.js";

export default defineVerb({
  name: "report",
  description: "Report runs: rates with intervals, configs, proposals; tables, JSON, figures",
  options: {
    runs: { type: "rest", hint: "DIR", required: true, description: "Run folders; the first is the reference of comparisons" },
    json: { type: "flag", description: "One JSON document on stdout" },
    markdown: { type: "flag", description: "Tables as Markdown" },
    plot: { type: "text", hint: "FILE.svg|.png", description: "Also draw a figure: one run in full, several by their rates" },
  },
  examples: [
    ["envwright report runs/tiny", "what the loop did, stage by stage"],
    ["envwright report runs/tiny --json", "the same as JSON, for scripts"],
    ["envwright report runs/self runs/rule --plot compare.png", "two runs, paired on the same boards"],
  ],
  async run({ runs, json, markdown, plot }, { print, printJson, note }) {
    if (json && markdown) {
      throw new InputError({ message: "--json and --markdown exclude each other", remedy: "give one of the two" });
    }
    const format = plot === undefined ? undefined : figureFormat(plot);
    const histories: RunHistory[] = [];
    const reports: MeasuredReport[] = [];
    for (const dir of runs) {
      const { history, report } = await loadReport(dir);
      histories.push(history);
      reports.push(report);
    }
    const comparisons = histories.slice(1).flatMap((history) => {
      try {
        return [compareRuns(histories[0]!, history)];
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        note(`not compared: ${error.message}`);
        return [];
      }
    });
    if (plot !== undefined && format !== undefined) {
      const svg = plotReports(reports);
      await writeFile(plot, format === ".png" ? renderPng(svg) : svg).catch((cause) => {
        throw storageFailure(cause, "write", plot);
      });
      note(`figure: ${plot}`);
    }
    if (json) printJson(reports.length === 1 ? reports[0] : { runs: reports, comparisons });
    else {
      const text = reports.map((report) => renderReport(report, markdown));
      print([...text, ...comparisons.map(comparisonSentence)].join("\n\n"));
    }
  },
});

function figureFormat(path: string): ".svg" | ".png" {
  const extension = extname(path).toLowerCase();
  if (extension === ".svg" || extension === ".png") return extension;
  throw new InputError({
    message: `--plot ${path}: "${extension}" is not a format of figures`,
    value: path,
    expected: "a name that ends in .svg or .png",
    remedy: "choose one of the two",
  });
}
