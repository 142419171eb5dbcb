/**
 * A policy by its specification, as the command line and recipes write it:
 *
 *   embedded:DIR                 a checkpoint folder           oracle, random     scripted
 *   openai:MODEL[@BASE_URL]      an endpoint; anthropic, google, openrouter, vllm, sglang, llamacpp, ollama likewise
 *   policy.yaml                  a policy file: an endpoint with all its options
 *   gguf:FILE                    a GGUF file through llama.cpp replay:DIR         the recorded calls of another policy
 */
import { InputError, type InstanceBase, nearest, type Policy, type Random, type Rendering, Seed } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { ENDPOINT_NAMES } from "../policies/endpoint/presets.js";
import type { EndpointOptions } from "../policies/index.js";

export const POLICY_KINDS = ["embedded", "oracle", "random", "gguf", "replay", ...ENDPOINT_NAMES] as const;

/** For the help of verbs that take one. */
export const POLICY_HINT =
  "embedded:DIR, openai:MODEL[@BASE_URL] (or vllm:, ollama:, …), a policy file, gguf:FILE, replay:DIR, oracle, random";

export interface PolicyRequest {
  spec: string;
  family: AnyFamily;
  /** What will be asked: scripted policies answer from it. */
  instances: readonly InstanceBase[];
  objective: string;
  workers: number;
  /** Keeps a record of every call of an endpoint or a GGUF file in this folder, to be replayed; a policy file's own folder comes first. */
  recordTo?: string;
  /** Where keys are looked up; the process's own environment unless given. */
  environment?: Record<string, string | undefined>;
  /** Told once of every field that the endpoint turned out not to take. */
  note?: (text: string) => void;
}

/** A specification, read. */
type Named =
  | { kind: "embedded"; dir: string }
  | { kind: "oracle" | "random" }
  | { kind: "gguf"; file: string }
  | { kind: "replay"; dir: string }
  | { kind: "endpoint"; options: EndpointOptions };

/** What is known of a policy before anything of it is opened. */
export type PolicyDescription = Pick<Policy, "name" | "rendering" | "settings">;

/** @throws {InputError} for a specification that says nothing known; {ConfigError} for a policy file that does not hold together */
async function readSpec(spec: string): Promise<Named> {
  const [kind, ...rest] = spec.split(":");
  const argument = rest.join(":");
  if (kind === "embedded" && argument !== "") return { kind, dir: argument };
  if ((kind === "oracle" || kind === "random") && argument === "") return { kind };
  if (kind === "gguf" && argument !== "") return { kind, file: argument };
  if (kind === "replay" && argument !== "") return { kind, dir: argument };
  if (argument !== "" && (ENDPOINT_NAMES as readonly string[]).includes(kind!)) {
    return { kind: "endpoint", options: await namedEndpoint(kind!, argument) };
  }
  if (/\.(ya?ml|json)$/.test(spec)) return { kind: "endpoint", options: await policyFile(spec) };
  const close = nearest(kind ?? "", POLICY_KINDS);
  throw new InputError({
    message: `"${spec}" is not a policy${close === undefined ? "" : `, did you mean "${argumentOf(close)}"?`}`,
    value: spec,
    expected: POLICY_HINT,
    remedy: "give one of these",
  });
}

/** Opens the policy; its `close` closes what was opened with it. @throws {InputError} for a specification that says nothing known. */
export async function openPolicy(request: PolicyRequest): Promise<Policy> {
  const named = await readSpec(request.spec);
  switch (named.kind) {
    case "embedded":
      return openEmbedded(named.dir, request);
    case "gguf":
      return openGguf(named.file, request);
    case "replay":
      return (await import("./call-records.js")).openReplay(named.dir);
    case "endpoint":
      return openEndpoint(named.options, request);
    default:
      return openScripted(named.kind, request);
  }
}

/** The policy as it would be opened, without opening it: no key is needed, no engine is started, no model is loaded. @throws {InputError} {ConfigError} */
export async function describePolicy(spec: string): Promise<PolicyDescription> {
  const named = await readSpec(spec);
  switch (named.kind) {
    case "embedded":
      return { name: spec, rendering: "compact", settings: await embeddedSettings(named.dir) };
    case "gguf": {
      const { ggufSettings } = await import("../policies/index.js");
      return { name: spec, rendering: "chat", settings: await ggufSettings({ file: named.file }) };
    }
    case "replay":
      return (await import("./call-records.js")).describeReplay(named.dir);
    case "endpoint": {
      const { endpointName, endpointSettings, requireKeyApart } = await import("../policies/index.js");
      requireKeyApart(named.options, process.env[named.options.keyEnv]?.trim());
      return { name: endpointName(named.options), rendering: named.options.rendering, settings: endpointSettings(named.options) };
    }
    default:
      return { name: named.kind, rendering: SCRIPTED_RENDERING[named.kind] };
  }
}

/** What a policy file says a million tokens cost, in US dollars; undefined where it says nothing. @throws as `describePolicy` */
export async function policyPrices(spec: string): Promise<{ input: number; output: number } | undefined> {
  const named = await readSpec(spec);
  const prices = named.kind === "endpoint" ? named.options.budget.prices : undefined;
  return prices === undefined ? undefined : { input: prices.prompt, output: prices.completion };
}

const SCRIPTED_RENDERING = { oracle: "compact", random: "chat" } as const satisfies Record<string, Rendering>;

function argumentOf(kind: string): string {
  if (kind === "oracle" || kind === "random") return kind;
  return `${kind}:${kind === "embedded" || kind === "replay" ? "DIR" : kind === "gguf" ? "FILE" : "MODEL"}`;
}

async function namedEndpoint(endpoint: string, argument: string): Promise<EndpointOptions> {
  const { endpointOptions } = await import("../policies/index.js");
  // A model's name may hold an @, a URL's scheme tells the two apart.
  const [, model, baseUrl] = /^(.+?)(?:@(https?:\/\/.+))?$/s.exec(argument)!;
  // The specification itself is not named in an error: its URL may hold a password.
  return endpointOptions({ endpoint, model, ...(baseUrl === undefined ? {} : { base_url: baseUrl }) }, `${endpoint}:${model}`);
}

async function policyFile(path: string): Promise<EndpointOptions> {
  const { endpointOptions } = await import("../policies/index.js");
  const { readYaml } = await import("./recipes.js");
  return endpointOptions(readYaml(path), path);
}

async function openEndpoint(options: EndpointOptions, request: PolicyRequest): Promise<Policy> {
  const { EndpointPolicy, endpointKey, endpointName, endpointSettings, requireKeyApart } = await import("../policies/index.js");
  const key = endpointKey(options, request.environment ?? process.env);
  requireKeyApart(options, key);
  const described = { name: endpointName(options), rendering: options.rendering, settings: endpointSettings(options) };
  const calls = await callsOf(request, options.record, described);
  // Waits differ from run to run on purpose: clients that were sent away together must not come back together.
  const random = Seed.root("retry").child(process.pid, Date.now()).at(0);
  const policy = new EndpointPolicy(options, {
    ...{ key, random },
    ...(calls === undefined ? {} : { recorder: calls }),
    ...(request.note === undefined ? {} : { note: request.note }),
  });
  return closingWith(policy, async () => calls?.close());
}

async function openGguf(file: string, request: PolicyRequest): Promise<Policy> {
  const { GgufPolicy, ggufSettings } = await import("../policies/index.js");
  const settings = await ggufSettings({ file });
  const calls = await callsOf(request, undefined, { name: `gguf:${file}`, rendering: "chat", settings });
  const options = { file, threads: request.workers, ...(calls === undefined ? {} : { recorder: calls }) };
  const policy = await GgufPolicy.open(options, settings);
  return closingWith(policy, async () => {
    await policy.close();
    calls?.close();
  });
}

async function callsOf(request: PolicyRequest, own: string | undefined, { name, rendering, settings }: PolicyDescription) {
  const dir = own ?? request.recordTo;
  if (dir === undefined) return undefined;
  const { CallFolder } = await import("./call-records.js");
  return CallFolder.open(dir, name, rendering, settings);
}

function closingWith(policy: Policy, close: () => Promise<void>): Policy {
  const { name, rendering, settings } = policy;
  const room = policy.room?.bind(policy);
  return {
    ...{ name, rendering, complete: (...args) => policy.complete(...args), close },
    ...(settings === undefined ? {} : { settings }),
    ...(room === undefined ? {} : { room }),
  };
}

/** What decides the answers of a checkpoint: its bytes. */
async function embeddedSettings(dir: string): Promise<Record<string, unknown>> {
  const { checkpointHash } = await import("../nn/index.js");
  return { checkpoint_sha256: await checkpointHash(dir) };
}

async function openEmbedded(dir: string, { workers }: PolicyRequest): Promise<Policy> {
  const { Engine, readCheckpoint } = await import("../nn/index.js");
  const { EmbeddedPolicy } = await import("../policies/index.js");
  const { config, tokenizer, parameters } = await readCheckpoint(dir);
  const engine = await Engine.start({ config, workers });
  const policy = new EmbeddedPolicy(`embedded:${dir}`, engine, tokenizer, parameters, await embeddedSettings(dir));
  return closingWith(policy, () => engine.close());
}

/** Answers by the instance that a prompt was made from. */
async function openScripted(kind: "oracle" | "random", { family, instances, objective }: PolicyRequest): Promise<Policy> {
  const { ScriptedPolicy } = await import("../policies/index.js");
  const rendering: Rendering = SCRIPTED_RENDERING[kind];
  const walk = kind === "random" ? await randomWalker(family) : undefined;
  const byPrompt = new Map(instances.map((instance) => [family.prompt(instance, rendering), instance]));
  return new ScriptedPolicy(kind, rendering, ({ prompt, seed, index }) => {
    const instance = byPrompt.get(prompt);
    if (instance === undefined) throw new InputError({ message: `the ${kind} policy was asked about a board that is not in the set` });
    return walk?.(instance, Seed.parse(seed).at(index)) ?? family.demonstrate(instance, objective, rendering);
  });
}

/** The floor of a benchmark: every agent takes as many uniformly random actions as the optimal makespan has steps. */
async function randomWalker(family: AnyFamily): Promise<(instance: InstanceBase, random: Random) => string> {
  if (family.name !== "mapf-frozenlake") {
    throw new InputError({ message: `the random policy does not know the family ${family.name}`, remedy: "evaluate another policy" });
  }
  const { ACTIONS, instanceSchema, renderPlan } = await import("../environments/mapf-frozenlake/index.js");
  return (instance, random) => {
    const board = instanceSchema.parse(instance);
    const plan = board.agents.map(() => Array.from({ length: board.optimum.makespan }, () => random.pick(ACTIONS)));
    return renderPlan(board, plan, "chat");
  };
}
