/** The reference of recipe options as Markdown, made from the schema itself: docs/recipes.md is checked against it. */
import { z } from "zod";
import { recipeSchema } from "./recipe.js";

interface JsonSchema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

interface Row {
  path: string;
  values: string;
  fallback: string;
  meaning: string;
}

/** One row for each option: path, values, default, meaning. */
export function recipeReference(): string {
  const schema = z.toJSONSchema(recipeSchema, { io: "input", unrepresentable: "any" }) as JsonSchema;
  const rows = optionRows(schema, "").map(
    ({ path, values, fallback, meaning }) => `| \`${path}\` | ${values} | ${fallback} | ${meaning} |`,
  );
  return ["| option | values | default | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function optionRows(schema: JsonSchema, prefix: string): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, option]) => {
    const path = `${prefix}${name}`;
    const alternatives = option.oneOf ?? option.anyOf;
    if (alternatives !== undefined) {
      const kinds = alternatives.map(({ properties }) => properties?.kind?.const);
      const rows = alternatives.flatMap((alternative, i) => optionRows(alternative, `${path}.`).map((row) => ({ ...row, kind: kinds[i] })));
      return merged(rows, kinds);
    }
    if (option.properties !== undefined) return optionRows(option, `${path}.`);
    const fallback =
      option.default === undefined ? (schema.required?.includes(name) ? "required" : "") : `\`${JSON.stringify(option.default)}\``;
    return [{ path, values: values(option), fallback, meaning: option.description ?? "" }];
  });
}

/** What several alternatives (the kinds of a trainer) have in common stands once; where they differ, the differences side by side; and the kinds, where not all have it. */
function merged(rows: readonly (Row & { kind: unknown })[], kinds: readonly unknown[]): Row[] {
  return [...new Set(rows.map(({ path }) => path))].map((path) => {
    const same = rows.filter((row) => row.path === path);
    const all = (column: "values" | "fallback" | "meaning", between: string) =>
      [...new Set(same.map((row) => row[column]))].filter((text) => text !== "").join(between);
    const having = [...new Set(same.map(({ kind }) => kind))];
    const only =
      having.length === kinds.length || having.includes(undefined) ? "" : `Only ${having.map((kind) => `\`${kind}\``).join(", ")}.`;
    const meaning = [all("meaning", " "), only].filter((text) => text !== "").join(" ");
    return { path, values: all("values", ", "), fallback: all("fallback", " or "), meaning };
  });
}

function values(option: JsonSchema): string {
  if (option.const !== undefined) return `\`${option.const}\``;
  if (option.enum !== undefined) return option.enum.map((v) => `\`${v}\``).join(", ");
  const low = option.minimum ?? (option.exclusiveMinimum === undefined ? undefined : `>${option.exclusiveMinimum}`);
  const high = option.maximum !== undefined && option.maximum < Number.MAX_SAFE_INTEGER ? option.maximum : undefined;
  const range = low === undefined && high === undefined ? "" : ` ${low ?? ""}…${high ?? ""}`;
  return `${option.type ?? "the family's config"}${range}`;
}
