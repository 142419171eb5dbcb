/** `envwright sql`: a question in SQL over a run's rollouts, instances and training steps; the same as the dashboard's, without a row limit of its own. */
import { csvLines, terminalTable } from "../../evaluation/text-table.js";
import { RunFolder } from "../../store/index.js";
import { askReadOnly } from "../../store/read-only-sql.js";
import { runViews } from "../../ui/server/rollout-tables.js";
import { defineVerb } from "../define-verb.js";

const COLUMNS =
  "SELECT table_name AS table, column_name AS column, data_type AS type FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index";

/** Characters of a value in a table. */
const TABLE_TEXT = 60;

export default defineVerb({
  name: "sql",
  description: "Ask a run's rollouts, instances and training steps in SQL (DuckDB), reading only",
  options: {
    run: { type: "positional", hint: "RUN_DIR", required: true, description: "Folder of the run" },
    query: { type: "positional", hint: "QUERY", description: "One SELECT; without it the tables and their columns are listed" },
    limit: { type: "integer", hint: "N", least: 1, default: 100_000, description: "Rows at most" },
    seconds: { type: "number", hint: "S", least: 0, default: 600, description: "Time at most" },
    format: {
      type: "choice",
      of: ["table", "csv", "json"],
      default: "table",
      description: "Format of the result; a table cuts long values, csv and json give them whole",
    },
    json: { type: "flag", description: "The same as --format json" },
  },
  examples: [
    ["envwright sql runs/tiny", "what can be asked: tables and columns"],
    ['envwright sql runs/tiny "SELECT stage, code, count(*) FROM rollouts GROUP BY ALL ORDER BY ALL"', "codes by stage"],
    [`envwright sql runs/tiny "FROM rollouts WHERE code = 'hole'" --format csv`, "rows for another program"],
  ],
  interruptible: true,
  async run(values, { signal, print, printJson, note }) {
    const views = await runViews(await RunFolder.open(values.run));
    // What another program reads is whole; only a table on a terminal needs short values.
    const text = values.format === "table" && !values.json ? TABLE_TEXT : Number.POSITIVE_INFINITY;
    const limits = { rows: values.limit, text, characters: Number.POSITIVE_INFINITY, seconds: values.seconds };
    const answer = await askReadOnly(views, values.query ?? COLUMNS, signal, limits);
    const { columns, rows, more } = answer;
    if (more) note(`These are the first ${values.limit} rows; --limit gives more.`);
    if (values.json || values.format === "json") return printJson(answer);
    const head = columns.map(({ name }) => name);
    const shown = (value: (typeof rows)[number][number]): string =>
      value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    const cells = rows.map((row) => row.map(shown));
    if (values.format === "csv") return print(csvLines([head, ...cells]));
    const left = columns.flatMap(({ type }, i) => (/INT|DOUBLE|DECIMAL|FLOAT/.test(type) && !type.includes("[") ? [] : [i]));
    print(terminalTable({ title: `${rows.length} rows`, head, rows: cells, left }));
  },
});
