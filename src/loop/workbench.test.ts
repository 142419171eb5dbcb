import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { EventStream, parseWith, recipeSchema } from "../core/index.js";
import { Engine } from "../nn/index.js";
import { RunFolder } from "../store/index.js";
import { openWorkbench } from "./workbench.js";

vi.mock("./open-trainer.js", async (original) => ({
  ...(await original<typeof import("./open-trainer.js")>()),
  openTrainer: () => {
    throw new Error("no such trainer");
  },
}));

test("where the trainer cannot be opened the engine's workers are ended", async () => {
  const dir = mkdtempSync(join(tmpdir(), "envwright-workbench-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const value = {
    name: "test",
    stages: 1,
    instances: 4,
    config: { agents: [2], sizes: { 3: { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } },
    base: join(import.meta.dirname, "../../assets/base-tiny"),
    trainer: { kind: "embedded" },
  };
  const folder = await RunFolder.create(join(dir, "run"), { recipe: parseWith(recipeSchema, value, "test") });
  onTestFinished(() => folder.close());
  const close = vi.spyOn(Engine.prototype, "close");
  const opening = openWorkbench({ folder, events: new EventStream(() => new Date()), workers: 1 });
  await expect(opening).rejects.toThrow("no such trainer");
  expect(close).toHaveBeenCalledTimes(1);
});
