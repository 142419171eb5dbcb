import { expect, test } from "vitest";
import { latexTable, latexText } from "./latex.js";

test("text is escaped so that LaTeX sets what was written: names of models, of URLs and of costs", () => {
  // Compiled with pdflatex and read on the page.
  expect(latexText("vllm:org/a_b#c%d&e~f^g{h}$i\\j|k<l>@http://x:1/v1")).toBe(
    "vllm:org/a\\_b\\#c\\%d\\&e\\textasciitilde{}f\\textasciicircum{}g\\{h\\}\\$i\\textbackslash{}j\\textbar{}k\\textless{}l\\textgreater{}@http://x:1/v1",
  );
  expect(latexText("−1.5 †\nnext")).toBe("$-$1.5 $^\\dagger$ next");
});

test("a row that begins with a bracket or a star does not become an option of the line end before it", () => {
  const table = latexTable({ comment: "c", columns: "l", head: ["a"], groups: [[["[0, 1]"], ["*best"], ["x [2]"]]] });
  expect(table).toContain("  {[}0, 1] \\\\\n  {*}best \\\\\n  x [2] \\\\");
});

test("a comment stays one line, whatever the name of the policy holds", () => {
  const [comment, needs] = latexTable({ comment: "a\nb\r\nc", columns: "l", head: [], groups: [] }).split("\n");
  expect([comment, needs]).toEqual(["% a b c", "% needs \\usepackage{booktabs,graphicx}"]);
});
