/** SHA-256 of every file below a folder, for tests that promise equal bytes. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** Wall time and process ids are outside of the promise: events.jsonl carries them. */
const UNPROMISED = new Set(["events.jsonl", "run.lock"]);

export function folderBytes(root: string, skip: readonly string[] = []): Record<string, string> {
  const hashes: Record<string, string> = {};
  const visit = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (!UNPROMISED.has(entry.name) && !skip.includes(entry.name)) {
        hashes[relative(root, path)] = createHash("sha256").update(readFileSync(path)).digest("hex");
      }
    }
  };
  visit(root);
  return hashes;
}
