import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CorruptFileError } from "../../core/index.js";
import { decodeBoard, encodeBoard } from "./board-code.js";
import { anyBoard } from "./testing/boards.js";

describe("board code", () => {
  it("gives any board back, agents in their order", () => {
    fc.assert(
      fc.property(anyBoard(), (board) => {
        expect(decodeBoard(encodeBoard(board))).toEqual(board);
      }),
    );
  });

  it("refuses text that is no board", () => {
    for (const code of ["", "x", "3", "30000", "3zzzz0001", "30000000", "30000ff01", "3000f0001", "5ffffffff0001"])
      expect(() => decodeBoard(code), code).toThrow(CorruptFileError);
  });
});
