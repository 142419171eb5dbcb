/**
 * Our verl stage held against verl 0.9.1 itself: its configuration, its data set class, its reward loader. Needs a Python that has it
 * (docs/scale-out.md); skipped without one.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { verlTrainerSchema } from "../src/core/index.js";
import { mapfFrozenLake as family, type Instance } from "../src/environments/mapf-frozenlake/index.js";
import { VerlAdapter } from "../src/trainers/index.js";
import { BASE, lakeStage, openReward } from "../src/trainers/testing/lake-stage.js";
import { because, findPython } from "./pythons.js";

const found = findPython(["verl", "hydra", "ray", "tensordict", "envwright"]);
const work = mkdtempSync(join(tmpdir(), "envwright-verl-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe.skipIf(found.python === undefined)(`verl 0.9.1${because(found)}`, () => {
  test("its Hydra config takes our command, its data set class reads our rows, its reward loader calls our service", async () => {
    const judged: string[] = [];
    const service = await openReward({
      host: "127.0.0.1",
      emaValid: 0.5,
      stepSize: 64,
      onJudged: (items) => judged.push(...items.map((i) => i.instance)),
    });
    try {
      const options = verlTrainerSchema.parse({
        kind: "verl",
        grpo: { steps: 3, prompts: 8, group: 8, kl: 0.01, max_tokens: 32 },
        micro_batch: 2,
        max_prompt_tokens: 256,
      });
      const stage = { ...(await lakeStage(16)), to: join(work, "checkpoint") };
      const { instances } = stage;
      const job = await new VerlAdapter<Instance>(options, family.name).prepare(stage, work, service);
      const gold = family.demonstrate(instances[0]!, "makespan", "compact");
      const check = join(work, "check.json");
      writeFileSync(check, JSON.stringify({ overrides: job.command.args.slice(2), tokenizer: BASE, completions: [gold, "nothing"] }));
      const { stdout } = await promisify(execFile)(found.python!, [join(import.meta.dirname, "../python/check_verl.py"), check], {
        env: { ...process.env, ENVWRIGHT_REWARD_TOKEN: service.token },
        maxBuffer: 1e8,
      });
      const seen = JSON.parse(stdout.trim().split("\n").at(-1)!);
      expect(seen).toMatchObject({
        verl: "0.9.1",
        rows: 16,
        data_source: "envwright/mapf-frozenlake",
        prompt: [{ role: "user", content: family.prompt(instances[0]!, "compact") }],
        total_training_steps: 3,
        adv_estimator: "grpo",
        url: service.url,
        model: BASE,
        logger: ["console", "file"],
      });
      expect(seen.scores[0]).toMatchObject({ valid: 1, optimal: 1 });
      expect(seen.scores[0].score).toBeGreaterThan(0.9);
      expect(seen.scores[1]).toMatchObject({ valid: 0, score: 0 });
      expect(Object.keys(seen.scores[0])).toEqual(Object.keys(seen.scores[1]));
      expect(judged).toEqual([instances[0]!.id, instances[0]!.id]);
    } finally {
      await service.close();
    }
  });
});
