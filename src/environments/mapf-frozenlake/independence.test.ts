import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** Files of this folder that `entry` imports, directly or through others. */
function importsOf(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  const source = readFileSync(new URL(entry, import.meta.url), "utf8");
  for (const [, path] of source.matchAll(/from "(\.\/[^"]+)\.js"/g)) importsOf(`${path}.ts`, seen);
  return seen;
}

describe("independence of the verifier", () => {
  it("what judges an answer imports nothing that generates or solves", () => {
    const files = [...importsOf("./verify.ts")];
    expect(files.sort()).toEqual(["./instance.ts", "./parse-chat.ts", "./parse-compact.ts", "./plan.ts", "./rules.ts", "./verify.ts"]);
  });
});
