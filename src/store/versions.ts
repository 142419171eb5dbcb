/** Versions that a run is made with, for run.json and `envwright --version`. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** The package's folder: two levels above this module, in the sources and in the built package alike. */
export const PACKAGE_ROOT = fileURLToPath(new URL("../../", import.meta.url));

const packageSchema = z.object({ version: z.string(), dependencies: z.record(z.string(), z.string()) });

export function versions(): Record<string, string> {
  const manifest = packageSchema.parse(JSON.parse(readFileSync(`${PACKAGE_ROOT}package.json`, "utf8")));
  return {
    envwright: manifest.version,
    node: process.versions.node,
    "onnxruntime-node": manifest.dependencies["onnxruntime-node"] ?? "none",
  };
}
