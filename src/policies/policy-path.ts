/** The file or folder that a policy's specification names; a specification that names a model by what a server calls it has none. */
import { resolve } from "node:path";
import { ENDPOINT_NAMES } from "./endpoint/presets.js";

const AT_A_PATH = ["embedded", "gguf", "replay"];

/** `embedded:DIR`, `gguf:FILE`, `replay:DIR` and policy files; undefined for endpoints, scripted policies and what is no specification. */
export function policyPath(spec: string): string | undefined {
  return split(spec)?.path;
}

/** The specification with its path, where it has one, made absolute. @param dir folder that relative paths start from */
export function absolutePolicy(spec: string, dir: string): string {
  const named = split(spec);
  return named === undefined ? spec : `${named.kind}${resolve(dir, named.path)}`;
}

function split(spec: string): { kind: string; path: string } | undefined {
  const at = spec.indexOf(":");
  const [kind, path] = [spec.slice(0, Math.max(at, 0)), spec.slice(at + 1)];
  if (AT_A_PATH.includes(kind)) return path === "" ? undefined : { kind: `${kind}:`, path };
  if ((ENDPOINT_NAMES as readonly string[]).includes(kind)) return undefined;
  return /\.(ya?ml|json)$/.test(spec) ? { kind: "", path: spec } : undefined;
}
