/** Text and tables for LaTeX with booktabs and graphicx. Knows nothing of what the tables show. */

const SPECIAL: Record<string, string> = {
  "\\": "\\textbackslash{}",
  "{": "\\{",
  "}": "\\}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
  "|": "\\textbar{}",
  "−": "$-$",
  "†": "$^\\dagger$",
  "‡": "$^\\ddagger$",
};

/**
 * Text as LaTeX sets it: every character with a meaning of its own is escaped; line ends become blanks. At the beginning of a row a bracket
 * or a star would be taken for an option of the line end before it.
 */
export function latexText(text: string): string {
  return text
    .replace(/[\\{}~^<>|−†‡%&_#$]/g, (c) => SPECIAL[c] ?? `\\${c}`)
    .replace(/\s+/g, " ")
    .replace(/^ ?[[*]/, "{$&}");
}

export interface LatexTable {
  comment: string;
  /** Column alignment, e.g. "lrr". */
  columns: string;
  /** Head lines, finished LaTeX without the line end. */
  head: readonly string[];
  /** Rows by group; groups are set apart by a rule. Cells are plain text. */
  groups: readonly (readonly (readonly string[])[])[];
}

/** A line of small print below a table. */
export const latexNote = (text: string): string => `\n\n\\smallskip\\noindent{\\footnotesize ${latexText(text)}}`;

/** A tabular, as small as its text is wide where it is wider. */
export function latexTable(table: LatexTable): string {
  const groups = table.groups
    .filter((rows) => rows.length > 0)
    .map((rows) => rows.map((row) => `  ${row.map(latexText).join(" & ")} \\\\`).join("\n"));
  return [
    `% ${table.comment.replace(/\s+/g, " ")}`,
    "% needs \\usepackage{booktabs,graphicx}",
    "{\\setlength{\\tabcolsep}{4pt}\\noindent\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
    `\\begin{tabular}{${table.columns}}`,
    "  \\toprule",
    ...table.head.map((line) => (line.startsWith("\\cmidrule") ? `  ${line}` : `  ${line} \\\\`)),
    "  \\midrule",
    groups.join("\n  \\midrule\n"),
    "  \\bottomrule",
    "\\end{tabular}}}",
  ].join("\n");
}
