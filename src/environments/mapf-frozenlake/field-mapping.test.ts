import { describe, expect, it } from "vitest";
import { ConfigError, InputError } from "../../core/index.js";
import { completeInstance } from "./complete.js";
import { mapRow, parseFieldMapping, readFieldMapping } from "./field-mapping.js";

/** One board in the shapes that data sets have it in. */
const BOARD = { size: 3, holes: [[0, 2], [1, 1]], agents: [{ start: [0, 0], goal: [2, 2] }, { start: [2, 1], goal: [1, 2] }] }; // biome-ignore format: a board
const { hash } = completeInstance(BOARD);
const starts = [[0, 0], [2, 1]]; // biome-ignore format: pairs
const goals = [[2, 2], [1, 2]]; // biome-ignore format: pairs
const swapped = (cells: number[][]) => cells.map(([r, c]) => [c, r]);

describe("a field mapping finds the same board", () => {
  it.each<[string, string, unknown]>([
    ["under its own names", "coordinates=rc", BOARD],
    ["in letters", "grid=map,starts=s,goals=g", { map: ["SFH", "FHG", "FSG"], s: starts, g: goals }],
    ["in one string", "grid=map,starts=s,goals=g", { map: "..@\n.@.\n...\n", s: starts, g: goals }],
    ["in numbers", "grid=map,starts=s,goals=g", { map: [[0, 0, 1], [0, 1, 0], [0, 0, 0]], s: starts, g: goals }], // biome-ignore format: a grid
    ["in letters of its own", "grid=m,hole=a,free=bH,starts=s,goals=g", { m: ["bHa", "bab", "bbb"], s: starts, g: goals }],
    [
      "as x and y",
      "size=n,holes=pits,starts=s,goals=g,coordinates=xy",
      { n: 3, pits: swapped(BOARD.holes), s: swapped(starts), g: swapped(goals) },
    ],
    ["with named coordinates, whatever the order says", "size=n,agents=who,coordinates=xy,holes=h", { n: 3, h: [{ row: 0, col: 2 }, { x: 1, y: 1 }], who: [{ start: { row: 0, column: 0 }, goal: { x: 2, y: 2 } }, { start: { x: 1, y: 2 }, goal: { r: 1, c: 2 } }] }], // biome-ignore format: a row
    ["through nested lists", "size=p.0.n,holes=p.0.h,starts=p.0.bots.*.from,goals=p.0.bots.*.to", { p: [{ n: 3, h: BOARD.holes, bots: [{ from: [0, 0], to: [2, 2] }, { from: [2, 1], to: [1, 2] }] }] }], // biome-ignore format: a row
    ["in agents as pairs", "agents=a", { size: 3, holes: BOARD.holes, a: [[[0, 0], [2, 2]], [[2, 1], [1, 2]]] }], // biome-ignore format: a row
    ["in columns of 64 bits", "size=n,holes=h,starts=s,goals=g", { n: 3n, h: [[0n, 2n], [1n, 1n]], s: [[0n, 0n], [2n, 1n]], g: goals }], // biome-ignore format: a row
    ["with a star for each cell", "grid=map.*.*,starts=s.*,goals=g.*", { map: ["SFH", "FHG", "FSG"].map((row) => [...row]), s: starts, g: goals }], // biome-ignore format: a row
    ["in cells that are kept as JSON text", "grid=map,starts=s,goals=g", { map: ["SFH", "FHG", "FSG"], s: starts.map((c) => JSON.stringify(c)), g: goals.map((c) => JSON.stringify(c)) }], // biome-ignore format: a row
    [
      "in agents that are kept as JSON text",
      "agents=a",
      { size: 3, holes: BOARD.holes, a: ["[[0,0],[2,2]]", '{"start": [2, 1], "goal": [1, 2]}'] },
    ],
    ["with its size as text", "size=n,holes=h,starts=s,goals=g", { n: " 3", h: BOARD.holes, s: starts, g: goals }],
    ["in lists that are kept as JSON text", "grid=map,starts=s,goals=g", { map: ["SFH", "FHG", "FSG"], s: JSON.stringify(starts), g: JSON.stringify(goals) }], // biome-ignore format: a row
  ])("%s", (_, mapping, row) => {
    expect(completeInstance(mapRow(parseFieldMapping(mapping), row)).hash).toBe(hash);
  });
});

describe("a field mapping refuses", () => {
  const grid = parseFieldMapping("grid=m,starts=s,goals=g");
  it.each<[string, unknown, string]>([
    ["an unknown letter", { m: ["F?", "FF"], s: starts, g: goals }, 'cell (0, 1) of the grid is "?"'],
    ["rows of different length", { m: ["FF", "F"], s: starts, g: goals }, "row 1 of the grid has 1 cells, row 0 has 2"],
    ["a grid that is not square", { m: ["FFF", "FFF"], s: starts, g: goals }, "the grid is 2x3"],
    ["a path that leads nowhere, with the names that there are", { m: ["FF", "FF"], from: starts, g: goals }, 'there is no "s" (path s)'],
    ["starts and goals of different number", { m: ["FF", "FF"], s: starts, g: [[0, 0]] }, "2 starts but 1 goals"],
    ["a grid that is a number", { m: 7, s: starts, g: goals }, "the grid is no list of rows"],
    ["a row of the grid that is an object", { m: ["FF", { a: 1 }], s: starts, g: goals }, "row 1 of the grid is neither text nor a list"],
    ["starts that are a number", { m: ["FF", "FF"], s: 5, g: goals }, '"s" is no list'],
    ["a start that is missing", { m: ["FF", "FF"], s: [null], g: [[0, 0]] }, "start 0 is no cell: null"],
    ["a coordinate that is none", { m: ["FF", "FF"], s: [[0, 0.5]], g: [[0, 0]] }, "start 0 is no cell: [0,0.5]"],
  ])("%s", (_, row, said) => {
    expect(() => mapRow(grid, row)).toThrow(InputError);
    expect(() => mapRow(grid, row)).toThrow(said);
  });

  it.each<[string, string, unknown, string]>([
    ["a size that is no number", "size=n", { n: true }, '"n" is no whole number: true'],
    ["a size that is a list", "size=n", { n: [3] }, '"n" is no whole number: [3]'],
    ["an empty size", "size=n", { n: "" }, '"n" is no whole number: ""'],
    ["a size with a fraction", "size=a.n", { a: { n: 3.5 } }, '"a.n" is no whole number: 3.5'],
    ["an id that is an object", "id=i", { i: { x: 1 }, size: 3, agents: [] }, '"i" is no name: {"x":1}'],
    [
      "an agent without a goal, by its place",
      "agents=a",
      { size: 3, a: [BOARD.agents[0], { start: [0, 1] }] },
      'there is no "goal" in "a.1"',
    ],
    ["a nested path that ends too early, with where it ended", "size=a.b.c", { a: { b: 5 } }, 'there is no "c" in "a.b" (path a.b.c)'],
    ["a name that every object has", "size=constructor", {}, 'there is no "constructor"'],
    ["a row that is no record", "size=n", null, 'there is no "n"'],
  ])("%s", (_, mapping, row, said) => {
    const read = () => mapRow(parseFieldMapping(mapping), row);
    expect(read).toThrow(InputError);
    expect(read).toThrow(said);
  });

  it.each([
    ["starts=s.*.*,goals=g", "starts=s.*.* goes one level too deep", "starts=s"],
    ["starts=bots.*.from.*,goals=g", "starts=bots.*.from.* goes one level too deep", "starts=bots.*.from"],
    ["holes=h.*.*.*", "holes=h.*.*.* goes one level too deep", "holes=h"],
    ["agents=a.*.*", "agents=a.*.* goes one level too deep", "agents=a"],
  ])("the mapping %s, which goes through the cells, with the path that was meant", (mapping, said, remedy) => {
    expect(() => parseFieldMapping(mapping)).toThrow(ConfigError);
    expect(() => parseFieldMapping(mapping)).toThrow(said);
    try {
      parseFieldMapping(mapping);
    } catch (error) {
      expect((error as ConfigError).remedy).toContain(`, e.g. ${remedy}; lists of lists are not joined`);
    }
  });

  it("unknown keys, keys without a value, keys given twice, and letters that are both", () => {
    for (const text of ["gird=m", "grid", "grid=a,grid=b", "coordinates=yx"]) expect(() => parseFieldMapping(text)).toThrow(ConfigError);
    expect(() => parseFieldMapping("hole=ab,free=bc")).toThrow('"b" is both a hole and free');
    expect(readFieldMapping({ grid: "m", hole: [7], free: [0, 1] }, "file").free).toEqual(["0", "1"]);
  });
});
