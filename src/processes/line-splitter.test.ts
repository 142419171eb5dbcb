import { expect, test } from "vitest";
import { LineSplitter } from "./line-splitter.js";

test("lines end at any of the three ends, however the text is torn", () => {
  const text = "one\ntwo\r\n\r\nthree\rfour\n";
  const lines = ["one", "two", "", "three", "four"];
  for (let size = 1; size <= text.length; size++) {
    const splitter = new LineSplitter(10);
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
    expect(pieces.flatMap((piece) => splitter.push(piece))).toEqual(lines);
    expect(splitter.take()).toBe("");
  }
});

test("of a line that does not end its beginning is kept and nothing more", () => {
  const splitter = new LineSplitter(5);
  for (let i = 0; i < 100; i++) expect(splitter.push("abc")).toEqual([]);
  expect(splitter.push("\nrest")).toEqual(["abcab"]);
  expect(splitter.take()).toBe("rest");
});
