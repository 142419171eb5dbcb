/**
 * A recipe by name or path → the resolved, validated record. `--set path=value` changes values before validation; a value is YAML, typed by
 * the schema (so `--set name=12` is the text "12"), and an unknown path is refused with the nearest known key.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { parseDocument } from "yaml";
import { ConfigError, InputError, nearest, parseWith, type Recipe, recipeSchema } from "../core/index.js";
import { absolutePolicy } from "../policies/policy-path.js";
import { PACKAGE_ROOT } from "../store/versions.js";
import { absoluteArgument, absoluteLaunch, absoluteProgram } from "../trainers/engine/engine-paths.js";

const SHIPPED = join(PACKAGE_ROOT, "recipes");
const EXTENSIONS = [".yaml", ".yml", ".json"];
/** Values that are, or hold, a path: in a recipe relative to its file, on the command line relative to where one stands. */
const ABSOLUTE: Readonly<Record<string, (text: string) => string>> = {
  base: (text) => resolve(text),
  "engineer.from": (text) => resolve(text),
  "engineer.policy": (text) => absolutePolicy(text, process.cwd()),
  "trainer.python": (text) => absoluteProgram(text, process.cwd()),
  "trainer.launch.0": (text) => absoluteProgram(text, process.cwd()),
};

export interface FoundRecipe {
  recipe: Recipe;
  /** The recipe's file, absolute. */
  path: string;
  /** Folder that relative paths in the recipe start from. */
  dir: string;
}

export function recipeNames(): string[] {
  return readdirSync(SHIPPED)
    .filter((file) => EXTENSIONS.includes(extname(file)))
    .map((file) => basename(file, extname(file)));
}

/** @param nameOrPath a shipped recipe ("tiny") or a file. @throws {InputError} {ConfigError} */
export function loadRecipe(nameOrPath: string, overrides: readonly string[] = []): FoundRecipe {
  const path = findRecipe(nameOrPath);
  const value = readYaml(path);
  return { recipe: resolveRecipe(value, overrides, `recipe ${nameOrPath}`), path, dir: dirname(path) };
}

export function resolveRecipe(value: unknown, overrides: readonly string[], what: string): Recipe {
  if (overrides.length === 0) return parseWith(recipeSchema, value, what);
  // Overrides go onto the recipe with its defaults, where every key stands; one that needs them to be valid at all is changed as it is.
  const whole = recipeSchema.safeParse(value);
  let changed: unknown = whole.success ? whole.data : structuredClone(value);
  for (const override of overrides) changed = applyOverride(changed, override);
  return parseWith(recipeSchema, changed, `${what} with ${overrides.map((o) => `--set ${o}`).join(" ")}`);
}

/** @throws {InputError} a file that is not there, or cannot be read. */
export function readText(path: string, expected: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const problem = code === "ENOENT" ? "no such file" : code === "EISDIR" ? "a folder, not a file" : `cannot be read: ${message}`;
    throw new InputError({ message: `${path}: ${problem}`, value: path, expected, remedy: "check the path", cause });
  }
}

/** A YAML or JSON file as a value. @throws {InputError} naming line and column of what cannot be read. */
export function readYaml(path: string): unknown {
  const text = readText(path, "a YAML or JSON file");
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined) {
    throw new ConfigError({
      message: `${path}: ${error.message.split("\n")[0]}`,
      value: path,
      expected: "YAML or JSON",
      remedy: "correct the line that is named",
    });
  }
  return document.toJS() as unknown;
}

function findRecipe(nameOrPath: string): string {
  if (existsSync(nameOrPath) && statSync(nameOrPath).isFile()) return resolve(nameOrPath);
  const shipped = EXTENSIONS.map((extension) => join(SHIPPED, nameOrPath + extension)).find((path) => existsSync(path));
  if (shipped !== undefined && !nameOrPath.includes("/")) return shipped;
  const names = recipeNames();
  const close = nearest(nameOrPath, names);
  throw new InputError({
    message: `there is no recipe "${nameOrPath}"${close === undefined ? "" : `, did you mean "${close}"?`}`,
    value: nameOrPath,
    expected: `one of the shipped recipes (${names.join(", ")}) or the path of a file`,
    remedy: "check the name, or write a recipe of your own: docs/recipes.md",
  });
}

function applyOverride(value: unknown, override: string): unknown {
  const at = override.indexOf("=");
  if (at <= 0) {
    throw new InputError({
      message: `--set ${override}: not of the form path=value`,
      value: override,
      expected: "for example --set trainer.grpo.steps=10",
      remedy: "write the path of a value, an equals sign, and the value",
    });
  }
  const path = override.slice(0, at);
  const text = override.slice(at + 1);
  const typed = parseDocument(text);
  const written: unknown = typed.errors.length === 0 ? typed.toJS() : text;
  const absolute = ABSOLUTE[path] ?? (path.startsWith("trainer.launch.") ? absoluteHere : undefined);
  const quoted = /^["']/.test(text) && typeof written === "string";
  const plain = path === "trainer.launch" && isWords(written) ? absoluteLaunch(written, process.cwd()) : written;
  const changed = set(value, path.split("."), absolute === undefined ? plain : absolute(quoted ? written : text), path);
  return wantsText(changed, path) ? set(value, path.split("."), text, path) : changed;
}

const absoluteHere = (text: string): string => absoluteArgument(text, process.cwd());
const isWords = (value: unknown): value is string[] => Array.isArray(value) && value.every((word) => typeof word === "string");

/** Whether the schema refuses the value at `path` only because it is no text. */
function wantsText(recipe: unknown, path: string): boolean {
  const issues = recipeSchema.safeParse(recipe).error?.issues ?? [];
  return issues.some((issue) => issue.path.join(".") === path && issue.code === "invalid_type" && issue.expected === "string");
}

/** A copy of `value` with `to` at the keys given; objects are made where there are none. */
function set(value: unknown, keys: readonly string[], to: unknown, path: string): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return to;
  if (Array.isArray(value)) {
    const index = Number(key);
    if (Number.isInteger(index) && index >= 0 && index <= value.length) {
      return value.toSpliced(index, index < value.length ? 1 : 0, set(value[index], rest, to, path));
    }
  } else if (value === undefined || value === null || typeof value === "object") {
    const object = (value ?? {}) as Record<string, unknown>;
    return { ...object, [key]: set(object[key], rest, to, path) };
  }
  throw new InputError({
    message: `--set ${path}: there is nothing called "${key}" in ${JSON.stringify(value)?.slice(0, 60)}`,
    value: path,
    expected: "the path of a value of the recipe",
    remedy: "check the path against the recipe",
  });
}
