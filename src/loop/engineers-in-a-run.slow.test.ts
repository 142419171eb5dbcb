/** Engineers that need somebody outside, in real runs of an untrained miniature: a person, a person who approves, a language model. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { type TestBench, untrainedBench } from "../../test/untrained-base.js";
import { ConfigError, type Policy, parseWith, proposalSchema, type Recipe, type RunEvent, recipeSchema } from "../core/index.js";
import { RunFolder } from "../store/index.js";
import { approveHuman } from "./human-desk.js";
import { type RunOptions, resumeLoop, runLoop } from "./run.js";

let bench: TestBench;
let out: string;
beforeAll(async () => {
  bench = await untrainedBench({ stages: 2, steps: 1 });
  out = mkdtempSync(join(tmpdir(), "envwright-engineers-"));
});
afterAll(() => {
  rmSync(bench.dir, { recursive: true, force: true });
  rmSync(out, { recursive: true, force: true });
});

function recipe(engineer: Record<string, unknown>): Recipe {
  return parseWith(recipeSchema, { ...(parse(readFileSync(bench.recipe, "utf8")) as object), engineer }, "test");
}
const start = (name: string, engineer: Record<string, unknown>, more: Partial<RunOptions> = {}) =>
  runLoop({ recipe: recipe(engineer), recipeDir: dirname(bench.recipe), out: join(out, name), ...more });
const proposalOf = async (name: string) => (await RunFolder.open(join(out, name))).readRecord(0, "proposal.json", proposalSchema);

it("a run with the engineer human stops at Ctrl-C, is resumed to the same question, and goes on with what the person wrote", async () => {
  const controller = new AbortController();
  const stopped = start("human", { name: "human" }, {
    signal: controller.signal,
    onEvent: (event) => {
      if (event.type === "human-waiting") controller.abort();
    },
  }); // biome-ignore format: one call
  await expect(stopped).rejects.toThrow(/waits for/);
  const events: RunEvent[] = [];
  const reader = await RunFolder.open(join(out, "human"));
  await resumeLoop(join(out, "human"), {
    onEvent: (event) => {
      events.push(event);
      if (event.type !== "human-waiting") return;
      const text = readFileSync(event.path, "utf8");
      // The first answer cannot be used; the second is.
      const edited =
        event.refusal === undefined
          ? text.replace("0.5, hole_ratio", "0.5, whole_ratio")
          : text.replace("0.5, whole_ratio", "0.5, hole_ratio").replace("wait_ratio: 0.3", "wait_ratio: 0.25");
      void approveHuman(reader, event.stage, edited);
    },
  });
  expect(events.filter((e) => e.type === "human-waiting")).toHaveLength(2);
  const proposal = await proposalOf("human");
  expect(proposal).toMatchObject({ engineer: "human", reasons: [expect.stringMatching(/unknown knob .*did you mean hole_ratio/)] });
  expect(JSON.stringify(proposal.config)).toContain('"wait_ratio":0.25');
  expect(await reader.readText(0, "context.md")).toContain("# Environment engineering");
});

it("a proposal that a person approves stays the engineer's; one that is edited is the person's, and the draft is kept", async () => {
  for (const edit of [false, true]) {
    const name = `approve-${edit}`;
    await start(name, { name: "random", approve: true }, {
      onEvent: (event) => {
        if (event.type !== "human-waiting") return;
        const text = readFileSync(event.path, "utf8");
        const folder = { path: () => event.path } as unknown as RunFolder;
        void approveHuman(folder, 0, edit ? text.replace(/hole_ratio: [\d.]+/, "hole_ratio: 0.05") : text);
      },
    }); // biome-ignore format: one call
    const folder = await RunFolder.open(join(out, name));
    const draft = await folder.readRecord(0, "draft.json", proposalSchema);
    const proposal = await proposalOf(name);
    expect(draft.engineer).toBe("random");
    if (edit) expect(proposal.engineer).toBe("human");
    else expect(proposal).toEqual(draft);
  }
});

it("a run with the engineer llm asks the policy that its recipe names, in chat, and closes it", async () => {
  const asked: string[] = [];
  let closed = 0;
  const policy: Policy = {
    name: "scripted",
    rendering: "chat",
    complete: async (requests) =>
      requests.map(({ prompt, jsonSchema, maxTokens }) => {
        asked.push(prompt);
        expect(jsonSchema).toBeDefined();
        expect(maxTokens).toBe(777);
        return { text: '{"rationale": "fewer holes", "config": {"3": {"hole_ratio": 0}}}', tokens: 12, finishReason: "stop" };
      }),
    close: async () => void closed++,
  };
  const specs: string[] = [];
  const openPolicy = async (spec: string) => {
    specs.push(spec);
    return policy;
  };
  const own = { name: "brief", modules: ["F", { module: "T", detail: "full" }] };
  const engineer = { name: "llm", policy: "openai:m@http://x", variant: "brief", variants: [own], max_tokens: 777 };
  await start("llm", engineer, { openPolicy });
  expect(specs).toEqual(["openai:m@http://x"]);
  expect(closed).toBe(1);
  expect(await proposalOf("llm")).toMatchObject({ engineer: "llm", variant: "brief", outcome: "repaired", rationale: "fewer holes" });
  const folder = await RunFolder.open(join(out, "llm"));
  expect((await folder.readText(0, "context.md")).trimEnd()).toBe(asked[0]!.trimEnd());
  expect(asked[0]).toContain("reward = w·accuracy");
  expect(asked[0]).not.toContain("## Guideline");
  await expect(start("llm-no-opener", engineer)).rejects.toThrow(/nothing here can open a policy/);
});

it("what a run cannot do is refused before anything is written", async () => {
  await expect(start("no-model", { name: "llm" })).rejects.toThrow(/no language model to ask/);
  await expect(start("no-variant", { variant: "mine" })).rejects.toThrow(ConfigError);
  await expect(start("twice", { variants: [{ name: "V6", modules: ["F"] }] })).rejects.toThrow(/two context variants "V6"/);
  expect(() => recipe({ variants: [{ name: "x", modules: ["G"] }] })).toThrow(/at least the failures/);
});
