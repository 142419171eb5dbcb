/**
 * Our verl stage held against verl 0.9.1 itself: its configuration, its data set class, its reward loader. Needs a Python that has it
 * (docs/scale-out.md); skipped without one.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { verlTrainerSchema } from "../src/core/index.js";
import { mapfFrozenLake as family, type Instance } from "../src/environments/mapf-frozenlake/index.js";
import { serveReward } from "../src/server/reward/index.js";
import { VerlAdapter } from "../src/trainers/index.js";
import { BASE, lakeStage, openReward } from "../src/trainers/testing/lake-stage.js";
import { callCli } from "./call-cli.js";
import { because, findPython } from "./pythons.js";

const found = findPython(["verl", "hydra", "ray", "tensordict", "envwright"]);
const work = mkdtempSync(join(tmpdir(), "envwright-verl-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** What verl makes of the overrides of a command line, and of its reward for the first row. */
async function check(overrides: readonly string[], completions: readonly string[], env: Record<string, string> = {}) {
  const asked = join(work, "check.json");
  writeFileSync(asked, JSON.stringify({ overrides, tokenizer: BASE, completions }));
  const { stdout } = await promisify(execFile)(found.python!, [join(import.meta.dirname, "../python/check_verl.py"), asked], {
    env: { ...process.env, ...env },
    maxBuffer: 1e8,
  });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

describe.skipIf(found.python === undefined)(`verl 0.9.1${because(found)}`, () => {
  test("it takes the lines of the docs for a run of its own, over exported rows: data set, options of the reward, scores", async () => {
    const service = await serveReward({ family: family.name, rendering: "chat", threads: 1 });
    try {
      const { instances } = await lakeStage(16);
      writeFileSync(join(work, "boards.jsonl"), instances.map((instance) => `${JSON.stringify(instance)}\n`).join(""));
      const rows = join(work, "verl-train.parquet");
      expect((await callCli(["export", join(work, "boards.jsonl"), "--to", "verl", "--out", rows])).code).toBe(0);
      const docs = readFileSync(join(import.meta.dirname, "../docs/scale-out.md"), "utf8");
      const lines = /<!-- verl-lines -->\n\n```text\n([\s\S]*?)```/.exec(docs)![1]!.replaceAll(" \\\n", "");
      const [command, ...overrides] = lines.trim().split(/ {2}/);
      expect(command).toBe("python3 -m verl.trainer.main_ppo");
      const changes = {
        "verl-train.parquet": rows,
        "verl-test.parquet": rows,
        "Qwen/Qwen3-4B": BASE,
        "http://127.0.0.1:8600": service.url,
      };
      const changed = overrides.map((line) =>
        Object.entries(changes).reduce((text, [from, to]) => text.replace(from, to), line.replace(/^'(.*)'$/, "$1")),
      );
      const gold = family.demonstrate(instances[0]!, "makespan", "chat");
      const seen = await check(changed, [gold, "nothing"]);
      expect(seen).toMatchObject({ rows: 16, prompt: [{ role: "user", content: family.prompt(instances[0]!, "chat") }], url: service.url });
      expect(seen.scores[0]).toMatchObject({ valid: 1, optimal: 1, accuracy_weight: 0.8 });
      expect(seen.scores[0].score).toBeGreaterThan(0.9);
      expect(seen.scores[1]).toMatchObject({ valid: 0, score: 0 });
    } finally {
      await service.close();
    }
  });

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
      const job = await new VerlAdapter<Instance>(options, { family: family.name, rendering: "compact" }).prepare(stage, work, service);
      const gold = family.demonstrate(instances[0]!, "makespan", "compact");
      const seen = await check(job.command.args.slice(2), [gold, "nothing"], { ENVWRIGHT_REWARD_TOKEN: service.token });
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
