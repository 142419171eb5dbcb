/** The `--map` option of verbs that read foreign sets: pairs on the command line, or a YAML or JSON file with the same keys. */
import { existsSync } from "node:fs";
import { extname } from "node:path";
import { ConfigError } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { mapRow, parseFieldMapping, readFieldMapping } from "../environments/mapf-frozenlake/field-mapping.js";
import type { RowMapping } from "./instance-sets.js";
import { readYaml } from "./recipes.js";

export const MAP_OPTION = {
  type: "text",
  hint: "K=PATH,…|FILE",
  description: "Where a foreign file keeps its fields: grid, holes, agents, starts, goals, size, id, coordinates=xy, hole=…, free=…",
} as const;

/** @throws {ConfigError} for a family without foreign fields and for a mapping that is none */
export function openMapping(given: string | undefined, family: AnyFamily): RowMapping | undefined {
  if (given === undefined) return undefined;
  if (family.name !== "mapf-frozenlake") {
    throw new ConfigError({
      message: `--map: the family ${family.name} has no field mapping`,
      value: given,
      expected: "files whose fields are the family's own",
      remedy: "leave --map out",
    });
  }
  const isFile = [".yaml", ".yml", ".json"].includes(extname(given).toLowerCase()) && (existsSync(given) || !given.includes("="));
  const mapping = isFile ? readFieldMapping(readYaml(given), given) : parseFieldMapping(given);
  return (row) => mapRow(mapping, row);
}
