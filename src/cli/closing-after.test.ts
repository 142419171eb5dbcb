import { expect, test } from "vitest";
import { closingAfter } from "./closing-after.js";

function closables(failing: readonly number[] = []) {
  const closed: number[] = [];
  const one = (id: number) => ({
    id,
    async close() {
      closed.push(id);
      if (failing.includes(id)) throw new Error(`${id} does not close`);
    },
  });
  return { closed, one };
}

test("what was opened is closed in turn, the last first, and the task's result is kept", async () => {
  const { closed, one } = closables();
  expect(await closingAfter(async (opened) => opened(one(1)).id + opened(one(2)).id)).toBe(3);
  expect(closed).toEqual([2, 1]);
});

test("one that does not close keeps none of the others open", async () => {
  const { closed, one } = closables([2, 3]);
  const task = closingAfter(async (opened) => [1, 2, 3].forEach((id) => void opened(one(id))));
  await expect(task).rejects.toThrow("3 does not close");
  expect(closed).toEqual([3, 2, 1]);
});

test("where the second cannot be opened the first is closed, and why it could not goes before all else", async () => {
  const { closed, one } = closables([1]);
  const task = closingAfter(async (opened) => {
    opened(one(1));
    throw new Error("the port is taken");
  });
  await expect(task).rejects.toThrow("the port is taken");
  expect(closed).toEqual([1]);
});
