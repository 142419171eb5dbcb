/**
 * The closed loop with TRL's GRPOTrainer as its engine, on the CPU, for real: three stages from the shipped base. A stage in two processes. And
 * the Python package's own tests, against the running service too. Needs a Python with `./python[trl,test]` (docs/scale-out.md); skipped without one.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { loadRecipe } from "../src/cli/recipes.js";
import { proposalSchema, type RunEvent, trlTrainerSchema } from "../src/core/index.js";
import type { Instance } from "../src/environments/mapf-frozenlake/index.js";
import { runLoop } from "../src/loop/index.js";
import { readCheckpoint } from "../src/nn/index.js";
import { serveReward } from "../src/server/reward/index.js";
import { RunFolder } from "../src/store/index.js";
import { trained } from "../src/trainers/conformance.js";
import { EngineTrainer, processRunner, TrlAdapter } from "../src/trainers/index.js";
import { BASE, lakeStage, openReward } from "../src/trainers/testing/lake-stage.js";
import { callCli } from "./call-cli.js";
import { because, findPython } from "./pythons.js";
import { freePorts } from "./ray-head.js";

const found = findPython(["trl", "accelerate", "datasets", "pytest", "envwright"]);
const { python } = found;
/** A block of docs/scale-out.md under its label. */
const shown = (label: string) =>
  new RegExp(`<!-- ${label} -->\\n\\n\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(
    readFileSync(join(import.meta.dirname, "../docs/scale-out.md"), "utf8"),
  )![1]!;
const work = mkdtempSync(join(tmpdir(), "envwright-trl-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe.skipIf(python === undefined)(`TRL${because(found)}`, () => {
  test("trains three stages with our rewards: more boards are solved than before, each checkpoint is evaluated and asked for the next config", async () => {
    const events: RunEvent[] = [];
    const { recipe, dir } = loadRecipe("tiny-trl", [`trainer.python=${python}`]);
    const out = join(work, "run");
    await runLoop({ recipe, recipeDir: dir, out, onEvent: (event) => events.push(event) });
    const folder = await RunFolder.open(out);
    const steps = events.flatMap((e) => (e.type === "step" ? [e] : []));
    const { steps: perStage } = recipe.trainer.grpo;
    expect(steps.map((s) => s.step)).toEqual(Array.from({ length: 3 * perStage }, (_, i) => i));
    expect(events.filter((e) => e.type === "log").length).toBeGreaterThan(0);

    // Each stage trains on boards of another config, harder ones if the engineer did well: the rise is looked for on the same 400 boards.
    const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    const rewards = [0, 1, 2].map((stage) => mean(steps.filter((s) => s.stage === stage).map((s) => s.metrics.reward!)));
    const rates = events.flatMap((e) => (e.type === "validation" ? [e.total.valid.rate] : []));
    expect(rates).toHaveLength(4);
    // Above 0 and no more: of one seed on 400 boards, the gain's standard error (0.02 to 0.03) is as large as a margin would be.
    expect(rates[3]! - rates[0]!).toBeGreaterThan(0);

    for (const stage of [0, 1]) {
      const proposal = await folder.readRecord(stage, "proposal.json", proposalSchema);
      expect(proposal.attempts.length).toBeGreaterThan(0);
      expect(proposal.engineer).toBe("self");
    }
    const base = await readCheckpoint(recipe.base.startsWith("/") ? recipe.base : join(dir, recipe.base));
    const last = await readCheckpoint(await folder.verified(2, "checkpoint"));
    expect(last.config).toEqual(base.config);
    expect(last.parameters).not.toEqual(base.parameters);
    console.log(
      `TRL: mean reward of the stages ${rewards.map((r) => r.toFixed(3)).join(", ")}; valid ${rates.map((r) => r.toFixed(3)).join(" → ")}`,
    );
  });

  test("trains a stage in two processes under accelerate launch: every completion of both is judged once, the metrics are told once", async () => {
    const [port] = await freePorts(1);
    const launched = join(work, "two-processes.yaml");
    // As the docs have it for GPUs, whose place `use_cpu` gives to processes that meet by gloo.
    const gpus = shown("accelerate").replace("num_processes: 4", "num_processes: 2");
    writeFileSync(launched, `${gpus}use_cpu: true\nmain_process_port: ${port}\n`);
    const options = trlTrainerSchema.parse({
      kind: "trl",
      python: python!,
      device: "cpu",
      launch: ["accelerate", "launch", "--config_file", launched],
      processes: 2,
      retries: 0,
      environment: { OMP_NUM_THREADS: "1" },
      grpo_config: { gradient_checkpointing: true, model_init_kwargs: { attn_implementation: "eager" } },
      grpo: { steps: 2, prompts: 6, group: 4, updates: 2, max_tokens: 24, optimiser: { lr: 5e-4, warmup: 0 } },
    });
    const trainer = new EngineTrainer(new TrlAdapter<Instance>(options, "compact"), openReward, processRunner("trl"));
    const to = join(work, "two-processes");
    const { steps, rollouts } = await trained({ trainer, request: await lakeStage(24) }, { to });
    expect(steps.map((s) => s.step)).toEqual([0, 1]);
    expect(rollouts).toHaveLength(2 * 6 * 4);
    // A group's completions are of one board, whichever process sampled them.
    const first = rollouts.slice(0, 6 * 4);
    const boards = [...new Set(first.map((r) => r.instance))];
    expect(boards.map((board) => first.filter((r) => r.instance === board).length)).toEqual(Array(6).fill(4));
    expect(steps[0]!.reward).toBeCloseTo(first.reduce((sum, r) => sum + r.reward!.total, 0) / first.length, 4);
    expect((await readCheckpoint(to)).parameters).not.toEqual((await readCheckpoint(BASE)).parameters);
  });

  test("the training script of the docs runs as it stands there, over an exported compact set and the shipped base", async () => {
    const service = await serveReward({ family: "mapf-frozenlake", rendering: "chat", threads: 1 });
    try {
      const { instances } = await lakeStage(24);
      writeFileSync(join(work, "boards.jsonl"), instances.map((instance) => `${JSON.stringify(instance)}\n`).join(""));
      const rows = join(work, "trl.parquet");
      const exported = await callCli(["export", join(work, "boards.jsonl"), "--to", "trl", "--rendering", "compact", "--out", rows]);
      expect(exported.code).toBe(0);
      const changes = [
        ["Qwen/Qwen3-0.6B", BASE],
        ["http://127.0.0.1:8600", service.url],
        ['"trl.parquet"', JSON.stringify(rows)],
        ["LONGEST = 1024", "LONGEST = 32"],
        ['"length_min": 128', '"length_min": 8'],
        ["max_steps=100", "max_steps=2, use_cpu=True, bf16=False, report_to='none'"],
      ] as const;
      const script = changes.reduce((text, [from, to]) => {
        expect(text).toContain(from);
        return text.replaceAll(from, to);
      }, shown("grpo-trainer"));
      writeFileSync(join(work, "train.py"), script);
      const { stdout } = await promisify(execFile)(python!, ["train.py"], { cwd: work, env: { ...process.env, HF_HUB_OFFLINE: "1" } });
      const valid = [...stdout.matchAll(/'valid': '?([\d.e-]+)/g)].map(([, rate]) => Number(rate));
      expect(valid).toHaveLength(2);
      // The base solves half of such boards: read as chat, none of its answers would be a plan.
      expect(Math.max(...valid)).toBeGreaterThan(0);
    } finally {
      await service.close();
    }
  });

  test("the package's own tests pass, against the running service too", async () => {
    const service = await serveReward({ family: "mapf-frozenlake", rendering: "chat", threads: 1, token: "secret" });
    try {
      const env = { ...process.env, ENVWRIGHT_REWARD_URL: service.url, ENVWRIGHT_REWARD_TOKEN: "secret", PYTHONDONTWRITEBYTECODE: "1" };
      const { stdout } = await promisify(execFile)(python!, ["-m", "pytest", "-q", "-p", "no:cacheprovider"], {
        cwd: join(import.meta.dirname, "../python"),
        env,
      });
      // A test that fails is an exit code, which rejects; the test that needs the running service must not have been left out.
      expect(stdout).toMatch(/\d+ passed/);
      expect(stdout).not.toMatch(/skipped|deselected/);
    } finally {
      await service.close();
    }
  });
});
