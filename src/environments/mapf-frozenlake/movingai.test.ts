import { describe, expect, it } from "vitest";
import { CorruptFileError, InputError } from "../../core/index.js";
import { movingAiBoard, parseMap, parseScenario } from "./movingai.js";

const MAP = "type octile\nheight 3\nwidth 5\nmap\n..S..\n.@O.G\n...TW\n";
const line = (...fields: (string | number)[]) => ["0", "room.map", ...fields].join("\t");
const SCEN = ["version 1", line(5, 3, 0, 0, 4, 1, 5), line(5, 3, 4, 0, 0, 2, 6), line(5, 3, 2, 2, 1, 2, 1.5)].join("\n");

const map = () => parseMap(MAP, "room.map");
const withLine = (text: string, number: number, to: string) => text.split("\n").map((old, i) => (i === number - 1 ? to : old)).join("\n"); // biome-ignore format: one line

describe("MovingAI's pair of files", () => {
  it("becomes a board whose coordinates are (y, x) of the scenario, with holes beyond the edge of a rectangular map", () => {
    const board = movingAiBoard(map(), parseScenario(SCEN, "room.scen", map(), 2), "room");
    expect(board.size).toBe(5);
    expect(board.agents).toEqual([
      { start: [0, 0], goal: [1, 4] },
      { start: [0, 4], goal: [2, 0] },
    ]);
    const beyond = [3, 4].flatMap((row) => [0, 1, 2, 3, 4].map((column) => [row, column]));
    expect(board.holes).toEqual([[1, 1], [1, 2], [2, 3], [2, 4], ...beyond]);
  });

  it("reads Windows line ends and ends without a line feed", () => {
    expect(parseMap(MAP.trimEnd().replaceAll("\n", "\r\n"), "room.map")).toEqual(map());
    expect(parseScenario(`${SCEN.replaceAll("\n", "\r\n")}\r\n`, "room.scen", map(), 3)).toHaveLength(3);
  });

  it.each([
    [1, "octile", "line 1"],
    [2, "height three", "line 2"],
    [2, "width 5", "line 3"],
    [4, "grid", "line 4"],
    [5, "....", "line 5"],
    [6, ".@O.Q", 'line 6: unknown terrain "Q" at column 4'],
    [7, "...TW\n.....", "line 8: the map has 4 rows"],
  ])("a map with line %i as %j is refused with %s", (number, to, said) => {
    expect(() => parseMap(withLine(MAP, number, to), "room.map")).toThrow(CorruptFileError);
    expect(() => parseMap(withLine(MAP, number, to), "room.map")).toThrow(said);
  });

  it("a map that ends too early, and one larger than the testbed's boards, are refused", () => {
    expect(() => parseMap("type octile\nheight 3\nwidth 2\nmap\n..\n", "a.map")).toThrow("line 5: the map has 1 row");
    expect(() => parseMap(`type octile\nheight 1\nwidth 11\nmap\n${".".repeat(11)}\n`, "b.map")).toThrow(/11 wide and 1 high/);
  });

  it("names every row of a map that is wrong, also where their number is, and what blank lines at the end stand for", () => {
    const said = (text: string) => {
      try {
        parseMap(text, "a.map");
      } catch (error) {
        return (error as CorruptFileError).explain();
      }
      throw new Error("nothing was wrong");
    };
    const head = "type octile\nheight 3\nwidth 3\nmap\n";
    expect(said(`${head}..\n.Q.\n`)).toBe(
      [
        'a.map, line 5: the row has 2 cells; line 6: unknown terrain "Q" at column 1; line 6: the map has 2 rows',
        "  expected: 3 cells, as the header says; . G S (free) or @ O T W (blocked); 3 rows, as its header says",
        "  remedy:   correct the lines",
      ].join("\n"),
    );
    expect(said(`${head}...\n...\n\n`)).toContain("a.map, line 7: the row has 0 cells\n");
    expect(said("type octile\nheight\nwidth 3\nmop\n")).toMatch(/line 2: not the height or the width; line 4: not the word "map"\n/);
    expect(parseMap(`${MAP}\n\n`, "room.map")).toEqual(map());
  });

  it("names the malformed lines of a scenario, the first ten each, and counts the others", () => {
    const two = withLine(withLine(SCEN, 2, line(5, 3, 0)), 4, line(5, 3, 2, 2, 1, 2, "far"));
    expect(() => parseScenario(two, "room.scen", map(), 1)).toThrow('room.scen, line 2: 5 fields; line 4: "far" is no length');
    const many = ["version 1", ...Array.from({ length: 14 }, () => "0")].join("\n");
    expect(() => parseScenario(many, "room.scen", map(), 1)).toThrow(/^room\.scen, line 2: 1 field; .*line 11: 1 field; and 4 lines more$/);
  });

  it("takes version 1 of a scenario, with or without the 0 behind it, and no other", () => {
    for (const version of ["version 1", "version 1.0", "version 1."])
      expect(parseScenario(withLine(SCEN, 1, version), "room.scen", map(), 3)).toHaveLength(3);
    expect(() => parseScenario("version 2\n0\n0", "room.scen", map(), 1)).toThrow(/^room\.scen, line 1: a scenario of version 2$/);
    for (const version of ["2", "0", "1.1", "10", "..."])
      expect(() => parseScenario(withLine(SCEN, 1, `version ${version}`), "room.scen", map(), 1)).toThrow(
        `line 1: a scenario of version ${version}`,
      );
  });

  it.each([
    [1, "verzion 1", "line 1: not the version"],
    [2, line(5, 3, 0, 0, 4, 1), "line 2: 8 fields"],
    [3, "", "line 3: 0 fields"],
    [3, line(5, 3, 4, -1, 0, 2, 6), "line 3: a size or a coordinate"],
    [3, line(3, 5, 0, 4, 2, 0, 6), "line 3: made for a map of 3 by 5"],
    [3, line(5, 3, 0, 4, 2, 0, 6), "line 3: the start x 0, y 4 lies outside"],
    [2, line(5, 3, 0, 0, 2, 1, 6), "line 2: the goal x 2, y 1 is blocked"],
    [4, line(5, 3, 2, 2, 1, 2, "far"), 'line 4: "far" is no length'],
  ])("a scenario with line %i as %j is refused with %s", (number, to, said) => {
    expect(() => parseScenario(withLine(SCEN, number, to), "room.scen", map(), 1)).toThrow(said);
  });

  it("more agents than the scenario has, or two on one start, are refused", () => {
    expect(() => parseScenario(SCEN, "room.scen", map(), 4)).toThrow(/has 3 agents/);
    expect(() => parseScenario("version 1\n", "room.scen", map(), 1)).toThrow(
      expect.objectContaining({ message: "room.scen has 0 agents", remedy: "name a scenario with a line for each agent" }),
    );
    const twice = withLine(SCEN, 3, line(5, 3, 0, 0, 0, 2, 2));
    expect(() => movingAiBoard(map(), parseScenario(twice, "room.scen", map(), 2), "room")).toThrow(InputError);
    expect(() => movingAiBoard(map(), parseScenario(twice, "room.scen", map(), 2), "room")).toThrow("share the start");
  });
});
