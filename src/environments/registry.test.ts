import { describe, expect, it } from "vitest";
import { ConfigError } from "../core/index.js";
import { familyByName, familyNames } from "./registry.js";

describe("registry of families", () => {
  it("gives every family by its name", () => {
    for (const name of familyNames()) expect(familyByName(name).name).toBe(name);
    expect(familyNames()).toContain("mapf-frozenlake");
  });

  it("refuses an unknown name with the nearest known one", () => {
    expect(() => familyByName("mapf-frozen-lake")).toThrow(ConfigError);
    expect(() => familyByName("mapf-frozen-lake")).toThrow('did you mean "mapf-frozenlake"');
    expect(() => familyByName("")).toThrow("unknown environment family");
  });
});
