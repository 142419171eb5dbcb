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

/** One row for each option: path, values, default, meaning. */
export function recipeReference(): string {
  const schema = z.toJSONSchema(recipeSchema, { io: "input", unrepresentable: "any" }) as JsonSchema;
  const rows = ["| option | values | default | meaning |", "| --- | --- | --- | --- |", ...optionRows(schema, "")];
  return rows.join("\n");
}

function optionRows(schema: JsonSchema, prefix: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, option]) => {
    const path = `${prefix}${name}`;
    const alternatives = option.oneOf ?? option.anyOf;
    if (alternatives !== undefined) return alternatives.flatMap((alternative) => optionRows(alternative, `${path}.`));
    if (option.properties !== undefined) return optionRows(option, `${path}.`);
    const fallback =
      option.default === undefined ? (schema.required?.includes(name) ? "required" : "") : `\`${JSON.stringify(option.default)}\``;
    return [`| \`${path}\` | ${values(option)} | ${fallback} | ${option.description ?? ""} |`];
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
