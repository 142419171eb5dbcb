/** Files that a verb writes anew: refused early where one is there already. */
import { existsSync } from "node:fs";
import { InputError } from "../core/index.js";

/** Minutes of generating may be in a file: it is replaced only when that is asked for. */
export const FORCE_OPTION = { type: "flag", description: "Replace the file at --out" } as const;

/** @throws {InputError} where a file is at `path` already and `force` is not given */
export function requireNewFile(path: string, force: boolean): void {
  if (force || !existsSync(path)) return;
  throw new InputError({
    message: `${path} exists`,
    value: path,
    expected: "a new file",
    remedy: "choose another --out, or add --force to replace it",
  });
}
