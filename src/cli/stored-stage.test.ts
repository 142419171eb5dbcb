/** The policies that an engineer of a stored stage may ask, on a run whose checkpoints stand behind a server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { recipeSchema } from "../core/index.js";
import { RunFolder } from "../store/index.js";
import { withPolicies } from "./stored-stage.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-stored-stage-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("no second server is started beside a run that goes on; once it has stopped, one may be", async () => {
  const recipe = recipeSchema.parse({
    name: "served",
    stages: 1,
    instances: 4,
    config: { agents: [2], sizes: { "3": { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } },
    base: dir,
    trainer: { kind: "trl", device: "cpu" },
    serving: { kind: "command", command: ["false", "{model}", "{port}", "{name}"] },
  });
  // It holds its lock until it is closed.
  const folder = await RunFolder.create(join(dir, "run"), { recipe });
  const ask = (): Promise<string> => withPolicies(folder, 0, recipe.engineer, async ({ base }) => (await base()).name);
  await expect(ask()).rejects.toMatchObject({
    name: "RunFolderError",
    message: expect.stringContaining(`is going on in process ${process.pid}`),
    remedy: expect.stringContaining("it can be resumed"),
  });
  folder.close();
  expect(await ask()).toBe("base");
});
