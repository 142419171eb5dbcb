/** The families that a recipe can name. A new family is added here and nowhere else. */
import { ConfigError, type EnvironmentFamily, type InstanceBase, nearest } from "../core/index.js";
import { mapfFrozenLake } from "./mapf-frozenlake/family.js";

/** A family whose config and instance types are its own business: what a caller passes back has come from the same family. */
export type AnyFamily = EnvironmentFamily<unknown, InstanceBase>;

const families: readonly AnyFamily[] = [mapfFrozenLake as unknown as AnyFamily];

export function familyNames(): string[] {
  return families.map((family) => family.name);
}

/** @throws {ConfigError} naming the nearest known family */
export function familyByName(name: string): AnyFamily {
  const family = families.find((candidate) => candidate.name === name);
  if (family !== undefined) return family;
  const close = nearest(name, familyNames());
  throw new ConfigError({
    message: `unknown environment family "${name}"${close === undefined ? "" : `, did you mean "${close}"?`}`,
    value: name,
    expected: `one of ${familyNames().join(", ")}`,
    remedy: "correct the family's name",
  });
}
