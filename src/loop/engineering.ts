/**
 * A stage's files → the engineer's context, and the engineer that a recipe names. Apart from the loop, so that any stored stage can be
 * asked again with another engineer or variant, without training.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import {
  ConfigError,
  canonicalJson,
  type EngineerOptions,
  type EnvironmentFamily,
  failureSummarySchema,
  type InstanceBase,
  type Policy,
  type Proposal,
  parseWith,
  proposalSchema,
  type Recipe,
  SCHEMA_VERSION,
  stageConfigSchema,
} from "../core/index.js";
import {
  createEngineer,
  type Engineer,
  type EngineerContext,
  type HumanDesk,
  isModelEngineer,
  type ModelEngineerOptions,
  renderChat,
  renderCompact,
  type Variant,
} from "../engineers/index.js";
import { policyPath } from "../policies/index.js";
import { accuracyWeight } from "../rewards/index.js";
import { checksumOf, RunFolder } from "../store/index.js";
import { readEngineState, readTrainerState } from "../trainers/index.js";

/** Everything known after `stage` was evaluated, read from the run folder alone. */
export async function contextOfStage(
  folder: RunFolder,
  stage: number,
  family: EnvironmentFamily<unknown, InstanceBase>,
): Promise<EngineerContext> {
  const { recipe } = folder.record;
  const { grpo } = recipe.trainer;
  const history: EngineerContext["history"] = [];
  const explanations: EngineerContext["explanations"] = [];
  for (let past = 0; past < stage; past++) {
    const config = await folder.readRecord(past, "config.json", stageConfigSchema);
    const failures = await folder.readRecord(past, "failures.json", failureSummarySchema);
    history.push({ stage: past, failures, config: config.normalised, initial: config.provenance.source === "initial" });
    const proposal = await folder.readRecord(past, "proposal.json", proposalSchema);
    if (proposal.rationale !== "") explanations.push({ stage: past, text: proposal.rationale });
  }
  const checkpoint = folder.path(stage, "checkpoint");
  const state = (await readTrainerState(checkpoint)) ?? (await readEngineState(checkpoint));
  const failures = await folder.readRecord(stage, "failures.json", failureSummarySchema);
  const { steps } = failures.training;
  return {
    schema_version: SCHEMA_VERSION,
    family: family.name,
    stage,
    stages: recipe.stages,
    failures,
    config: (await folder.readRecord(stage, "config.json", stageConfigSchema)).normalised,
    history,
    explanations,
    max_tokens: recipe.validation.max_tokens,
    training: {
      steps_per_stage: grpo.steps,
      ...(grpo.tokens === undefined ? {} : { tokens_per_stage: grpo.tokens }),
      steps_done: history.reduce((sum, past) => sum + past.failures.training.steps, steps),
      epochs: (steps * grpo.prompts) / recipe.instances,
      reward: recipe.reward,
      accuracy_weight: accuracyWeight(state?.emaValid ?? 0, recipe.reward),
    },
  };
}

/** The exact text that an engineer of this rendering is given, within the recipe's budget. */
export function contextText(
  context: EngineerContext,
  variant: Variant,
  family: EnvironmentFamily,
  rendering: Recipe["rendering"],
  options: Pick<EngineerOptions, "context_tokens" | "max_tokens">,
): string {
  const { chat, compact } = modelOptions(options);
  return `${rendering === "compact" ? renderCompact(context, variant, family, compact) : renderChat(context, variant, family, chat)}\n`;
}

/** What a recipe says of a model's context and answer. */
function modelOptions({ context_tokens, max_tokens }: Pick<EngineerOptions, "context_tokens" | "max_tokens">): ModelEngineerOptions {
  const budget = context_tokens === undefined ? {} : { chat: { tokens: context_tokens }, compact: { words: context_tokens } };
  return { maxTokens: max_tokens, ...budget };
}

/** Opens the policies that model engineers ask. */
export interface EngineerPolicies {
  /** The checkpoint that the stage has made. */
  self: () => Promise<Policy>;
  /** The checkpoint that the run started from. */
  base: () => Promise<Policy>;
  /** The policy that the recipe names as `engineer.policy`. */
  llm: () => Promise<Policy>;
}

/** Opens a policy by its specification, as the command line does. Its caller closes it. */
export type PolicyOpener = (
  spec: string,
  purpose: { family: EnvironmentFamily<unknown, InstanceBase>; objective: string; workers: number },
) => Promise<Policy>;

/** The opener's policy for `llm`. @throws {ConfigError} no specification, or nobody who could open one. */
export function openLanguageModel(
  options: EngineerOptions,
  open: PolicyOpener | undefined,
  purpose: Parameters<PolicyOpener>[1],
): Promise<Policy> {
  if (options.policy !== undefined && open !== undefined) return open(options.policy, purpose);
  throw new ConfigError({
    message: options.policy === undefined ? 'the engineer "llm" has no language model to ask' : "nothing here can open a policy",
    value: options.policy,
    expected: "engineer.policy: a policy as for `envwright eval`, e.g. openai:MODEL@BASE_URL",
    remedy: options.policy === undefined ? "--set engineer.policy=openai:MODEL@BASE_URL" : "hand runLoop or resumeLoop an openPolicy",
  });
}

/** @throws {ConfigError} an engineer that lacks what it needs. */
export async function engineerFor(
  options: EngineerOptions,
  family: EnvironmentFamily<unknown, InstanceBase>,
  policies: EngineerPolicies,
  desk?: HumanDesk,
): Promise<Engineer> {
  if (isModelEngineer(options.name)) {
    const policy = await policies[options.name as keyof EngineerPolicies]();
    return createEngineer(options.name, { policy, model: modelOptions(options) });
  }
  if (options.name === "human") return createEngineer("human", desk === undefined ? {} : { desk });
  if (options.name === "replay")
    return createEngineer("replay", options.from === undefined ? {} : { proposals: await proposalsOf(options.from) });
  if (options.name === "fixed" && options.from !== undefined) {
    const config = parseWith(family.configSchema, parse(await readFile(options.from, "utf8")), options.from);
    return createEngineer("fixed", { fixed: family.knobTable(config) });
  }
  return createEngineer(options.name);
}

async function proposalsOf(dir: string): Promise<Proposal[]> {
  const folder = await RunFolder.open(dir);
  const proposals: Proposal[] = [];
  for (const stage of await folder.stages()) {
    if (await folder.has(stage, "proposal.json")) proposals.push(await folder.readRecord(stage, "proposal.json", proposalSchema));
  }
  return proposals;
}

/** SHA-256 of what the engineer `llm` asks, where `engineer.policy` names a file or a folder that is there. Reads all of it: a model's file takes seconds. */
export async function policySourceHash({ name, policy }: Pick<EngineerOptions, "name" | "policy">): Promise<string | undefined> {
  const path = name === "llm" && policy !== undefined ? policyPath(policy) : undefined;
  return path === undefined || !existsSync(path) ? undefined : (await checksumOf(path)).sha256;
}

/** SHA-256 of what an engineer reads from `engineer.from`: an earlier run's proposals, or a file. Undefined where there is nothing. */
export async function engineerSourceHash({ name, from }: Pick<EngineerOptions, "name" | "from">): Promise<string | undefined> {
  if (from === undefined || !existsSync(from)) return undefined;
  const content = name === "replay" ? canonicalJson(await proposalsOf(from)) : await readFile(from);
  return createHash("sha256").update(content).digest("hex");
}
