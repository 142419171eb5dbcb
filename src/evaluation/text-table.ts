/** A table of text, for the terminal (aligned columns) and as Markdown; rows as CSV. Knows nothing of what it shows. */

export interface TextTable {
  title: string;
  head: string[];
  rows: string[][];
  /** Columns that are aligned left; the others are numbers, aligned right. */
  left: number[];
}

export function terminalTable(table: TextTable): string {
  const widths = table.head.map((head, c) => Math.max(head.length, ...table.rows.map((row) => row[c]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, c) => (table.left.includes(c) ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!)))
      .join("  ")
      .trimEnd();
  return [table.title, `  ${line(table.head)}`, ...table.rows.map((row) => `  ${line(row)}`)].join("\n");
}

export function markdownTable(table: TextTable): string {
  const escaped = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = table.head.map((_, c) => (table.left.includes(c) ? ":--" : "--:"));
  return [`### ${table.title}`, "", escaped(table.head), `| ${rule.join(" | ")} |`, ...table.rows.map(escaped)].join("\n");
}

/** RFC 4180 without the carriage returns; null is an empty field. */
export function csvLines(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\n");
}
