/**
 * Pythons with the engines that the slow tests hold us against; docs/scale-out.md tells how they are made. A Python that the environment names
 * has to have what a test needs, so that no test is lost unseen; without one the test is skipped and its title says why.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type FoundPython = { python: string; missing?: undefined } | { python?: undefined; missing: string };

/** What `variable` names, or `folder` in the project, if it has `modules`. @throws {Error} where the one that is named lacks one of them. */
export function findPython(modules: string[], variable = "ENVWRIGHT_PYTHON", folder = ".venv"): FoundPython {
  const named = process.env[variable];
  const python = named ?? fileURLToPath(new URL(`../${folder}/bin/python`, import.meta.url));
  const reason = lacks(python, modules);
  if (reason === undefined) return { python };
  if (named !== undefined) throw new Error(`${variable} names ${python}: ${reason}`);
  return { missing: `skipped: ${variable} names no Python and ${folder} is none: ${reason}` };
}

function lacks(python: string, modules: string[]): string | undefined {
  if (!python.includes("/") || existsSync(python)) {
    const script = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if u.find_spec(m) is None])";
    const { status, stdout, stderr, error } = spawnSync(python, ["-c", script, ...modules], { encoding: "utf8" });
    if (status !== 0) return `it does not run: ${error?.message ?? stderr.trim().split("\n").at(-1)}`;
    const missing = stdout.trim();
    return missing === "" ? undefined : `it lacks ${missing}`;
  }
  return "no such file";
}

/** To put behind a title. */
export function because({ missing }: FoundPython): string {
  return missing === undefined ? "" : ` (${missing})`;
}
