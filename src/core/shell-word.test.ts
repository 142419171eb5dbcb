import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { shellWord } from "./shell-word.js";

test("a shell reads every word as it was", () => {
  for (const word of ["openai:m@http://127.0.0.1:8000/v1", "runs/a b", "it's; touch x", "'", "$(id)`id`\\", "a\nb", "", "*"]) {
    const read = execFileSync("sh", ["-c", `printf %s ${shellWord(word)}`], { encoding: "utf8" });
    expect([word, read]).toEqual([word, word]);
  }
  expect([shellWord("runs/tiny/stages/03"), shellWord("it's")]).toEqual(["runs/tiny/stages/03", "'it'\\''s'"]);
});
