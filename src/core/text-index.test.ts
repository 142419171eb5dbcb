import { expect, it } from "vitest";
import { Seed } from "./random.js";
import { TextIndex } from "./text-index.js";

it("A text index numbers 5,000 texts as a Map does, over repeats, odd lengths, prefixes and other alphabets.", () => {
  const random = Seed.root("text-index.test").at(0);
  const index = new TextIndex();
  const numbers = new Map<string, number>();
  for (let i = 0; i < 5_000; i++) {
    const digits = Array.from({ length: random.below(9) }, () => random.below(16).toString(16)).join("");
    const text = random.below(4) === 0 ? `${digits}é` : digits;
    expect(index.find(text)).toBe(numbers.get(text) ?? -1);
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    expect(index.add(text)).toBe(numbers.get(text));
  }
  expect(index.size).toBe(numbers.size);
  for (const [text, number] of numbers) expect(index.find(text)).toBe(number);
  expect([...index]).toEqual([...numbers.keys()]);
});

it("A text index tells hexadecimal digits from the same digits with a nought behind, and from capitals.", () => {
  const index = new TextIndex();
  expect(["abc", "abc0", "ABC", ""].map((text) => index.add(text))).toEqual([0, 1, 2, 3]);
  expect(index.has("abc")).toBe(true);
  expect(index.has("ab")).toBe(false);
});

it("A text index refuses a text that its length field cannot hold.", () => {
  expect(() => new TextIndex().add("x".repeat(40_000))).toThrow(RangeError);
});
