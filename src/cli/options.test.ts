import { expect, test } from "vitest";
import { InputError } from "../core/index.js";
import { type Options, parseOptions } from "./options.js";

const options = {
  recipe: { type: "positional", hint: "RECIPE", description: "r" },
  seed: { type: "integer", least: 0, description: "a whole number" },
  set: { type: "list", hint: "PATH=VALUE", description: "s" },
  format: { type: "choice", of: ["table", "json"], default: "table", description: "f" },
  out: { type: "text", hint: "DIR", description: "o" },
  json: { type: "flag", description: "j" },
} as const satisfies Options;
const parse = (...argv: string[]) => parseOptions("run", options, argv);

test("values come typed, in any order, with = or a blank, and repeated where a list is declared", () => {
  expect(parse("--seed=3", "tiny", "--set", "a=1", "--json", "--set=b=x=y", "--out", "d")).toEqual({
    recipe: "tiny",
    seed: 3,
    set: ["a=1", "b=x=y"],
    format: "table",
    out: "d",
    json: true,
  });
  expect(parse()).toEqual({ recipe: undefined, seed: undefined, set: [], format: "table", out: undefined, json: false });
});

test.each([
  [["--jsn"], /unknown option --jsn, did you mean --json\?/],
  [["-j"], /unknown option -j/],
  [["--frobnicate-everything"], /unknown option --frobnicate-everything$/],
  [["tiny", "other"], /"other" is one argument too many/],
  [["--seed", "1.5"], /"1.5" is not a whole number of at least 0/],
  [["--seed", "-1"], /"-1" is not a whole number of at least 0/],
  [["--seed", ""], /is not a whole number/],
  [["--seed", "99999999999999999999"], /"99999999999999999999" is too large/],
  [["--seed", "1", "--seed", "2"], /--seed was given 2 times/],
  [["--format", "jsn"], /"jsn" is not known, did you mean "json"\?/],
  [["--out"], /--out needs a value/],
  [["--out", "--json"], /--out needs a value/],
  [["--json=yes"], /--json takes no value/],
  [["--no-json"], /unknown option --no-json/],
])("%j is refused by name", (argv, message) => {
  expect(() => parse(...argv)).toThrow(InputError);
  expect(() => parse(...argv)).toThrow(message);
});

test("a value that looks like an option can be given with an equals sign", () => {
  expect(parse("--out=--json").out).toBe("--json");
});

test("what is required is asked for by its name in the help", () => {
  const required = { runs: { type: "rest", hint: "DIR", required: true, description: "folders" } } as const satisfies Options;
  expect(() => parseOptions("report", required, [])).toThrow(/DIR is missing/);
  expect(parseOptions("report", required, ["a", "b"])).toEqual({ runs: ["a", "b"] });
});
