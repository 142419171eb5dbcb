/** The policies that an engineer of a stored stage may ask, on a run whose checkpoints stand behind a server. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { type CompletionRequest, proposalSchema, type Recipe, recipeSchema, SCHEMA_VERSION, stageConfigSchema } from "../core/index.js";
import { chat, refusal, startTestEndpoint } from "../policies/endpoint/test-endpoint.js";
import { RunFolder } from "../store/index.js";
import { routeNotes } from "./notes.js";
import { madeProposal, withPolicies } from "./stored-stage.js";

const dir = mkdtempSync(join(tmpdir(), "envwright-stored-stage-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const servedRecipe = (serving: object): Recipe =>
  recipeSchema.parse({
    name: "served",
    stages: 1,
    instances: 4,
    config: { agents: [2], sizes: { "3": { data_ratio: 1, hole_ratio: 0.11, wait_ratio: 0 } } },
    base: dir,
    trainer: { kind: "trl", device: "cpu" },
    serving,
  });

test("no second server is started beside a run that goes on; once it has stopped, one may be", async () => {
  const recipe = servedRecipe({ kind: "command", command: ["false", "{model}", "{port}", "{name}"] });
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

const question: CompletionRequest = { prompt: "what next?", seed: "run/1", index: 0, maxTokens: 9, temperature: 0 };

async function storedRun(name: string, serving: object) {
  const recipe = servedRecipe(serving);
  const folder = await RunFolder.create(join(dir, name), { recipe });
  folder.close();
  const told: string[] = [];
  onTestFinished(routeNotes((text) => told.push(text)));
  return { folder, engineer: recipe.engineer, told };
}

test.each([
  ["goes when all is well", false],
  ["stays where something failed", true],
])("the log of the server that was started for it %s", async (_, fails) => {
  const command = [join(import.meta.dirname, "../policies/serving/testing/fake-server.mjs")];
  const { folder, engineer, told } = await storedRun(`log-${fails}`, { kind: "vllm", command });
  let log = "";
  const asked = withPolicies(folder, 0, engineer, async ({ base }) => {
    await (await base()).complete([question]);
    log = /its log is (.*)$/.exec(told[0]!)![1]!;
    expect(readFileSync(log, "utf8")).toContain(`loading ${dir}`);
    if (fails) throw new Error("no answer could be read");
  });
  await (fails ? expect(asked).rejects.toThrow("no answer could be read") : asked);
  expect(existsSync(log)).toBe(fails);
  if (fails) rmSync(join(log, ".."), { recursive: true });
});

test("who asks a language model about a stored stage is told which fields its endpoint does not take", async () => {
  const endpoint = await startTestEndpoint((_, { body }) =>
    body.response_format === undefined ? chat([{ content: "{}" }]) : refusal(400, "response_format is not supported"),
  );
  onTestFinished(() => endpoint.close());
  const { folder, engineer, told } = await storedRun("told", { kind: "vllm" });
  const options = { ...engineer, policy: `vllm:m@${endpoint.baseUrl}` };
  await withPolicies(folder, 0, options, async ({ llm }) => (await llm()).complete([{ ...question, jsonSchema: { type: "object" } }]));
  expect(told).toEqual([expect.stringMatching(/does not take a JSON Schema .*response_format is not supported/)]);
});

test("a proposal counts as taken unless a rollback led the next stage elsewhere", async () => {
  const recipe = servedRecipe({ kind: "command", command: ["false", "{model}", "{port}", "{name}"] });
  const folder = await RunFolder.create(join(dir, "proposals"), { recipe });
  onTestFinished(() => folder.close());
  const provenance = { source: "proposal" as const };
  const said = { engineer: "rule", variant: "V6", rendering: "none" as const, attempts: [], rationale: "", outcome: "accepted" as const };
  const schema_version: 1 = SCHEMA_VERSION;
  const proposal = { schema_version, ...said, reasons: [], repairs: [], guardrails: [], config: recipe.config, provenance };
  for (const stage of [0, 1, 2]) await folder.writeRecord(stage, "proposal.json", proposalSchema, { ...proposal, stage });
  for (const [stage, source] of [
    [1, "proposal"],
    [2, "rollback"],
  ] as const) {
    const config = { schema_version, stage, requested: recipe.config, normalised: recipe.config, repairs: [] };
    await folder.writeRecord(stage, "config.json", stageConfigSchema, { ...config, provenance: { source }, from_checkpoint: 0 });
  }
  expect(await madeProposal(folder, 0)).toMatchObject({ config: recipe.config, setAside: false });
  expect(await madeProposal(folder, 1)).toMatchObject({ setAside: true });
  // The last one: nobody has trained on it yet.
  expect(await madeProposal(folder, 2)).toMatchObject({ setAside: false });
  expect(await madeProposal(folder, 3)).toBeUndefined();
});
