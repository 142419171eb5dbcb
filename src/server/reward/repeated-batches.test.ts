import { expect, test } from "vitest";
import { RepeatedBatches } from "./repeated-batches.js";

const body = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer;

function counted(most?: number, bytes?: number) {
  const batches = new RepeatedBatches<string>((answer) => answer.length, most, bytes);
  let judged = 0;
  return { judged: () => judged, ask: (key: string, text = "body") => batches.once(key, body(text), async () => `answer ${++judged}`) };
}

test("the same key and body are judged once, at the same time or later; another key or another body by itself", async () => {
  const { ask, judged } = counted();
  expect(await Promise.all([ask("a"), ask("a")])).toEqual(["answer 1", "answer 1"]);
  expect(await ask("a")).toBe("answer 1");
  expect(await ask("b")).toBe("answer 2");
  expect(await ask("a", "another body")).toBe("answer 3");
  expect(judged()).toBe(3);
});

test("what failed is judged again", async () => {
  const batches = new RepeatedBatches<string>((answer) => answer.length);
  await expect(batches.once("a", body(""), () => Promise.reject(new Error("died")))).rejects.toThrow("died");
  expect(await batches.once("a", body(""), async () => "well")).toBe("well");
});

test.each([
  ["answers", 2, 1000],
  ["bytes", 1000, 16],
])("the oldest are forgotten beyond so many %s", async (_, most, bytes) => {
  const { ask } = counted(most, bytes);
  for (const key of ["a", "b", "c"]) await ask(key);
  expect(await ask("b")).toBe("answer 2");
  expect(await ask("c")).toBe("answer 3");
  expect(await ask("a")).toBe("answer 4");
});
