/** A policy by its specification on the command line: `embedded:DIR`, `oracle`, `random`. */
import { InputError, type InstanceBase, nearest, type Policy, type Random, type Rendering, Seed } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";

export const POLICY_KINDS = ["embedded", "oracle", "random"] as const;

export interface PolicyRequest {
  spec: string;
  family: AnyFamily;
  /** What will be asked: scripted policies answer from it. */
  instances: readonly InstanceBase[];
  objective: string;
  workers: number;
}

/** Opens the policy; its `close` closes what was opened with it. @throws {InputError} for a specification that says nothing known. */
export async function openPolicy(request: PolicyRequest): Promise<Policy> {
  const { spec } = request;
  const [kind, ...rest] = spec.split(":");
  const argument = rest.join(":");
  if (kind === "embedded" && argument !== "") return openEmbedded(argument, request);
  if ((kind === "oracle" || kind === "random") && argument === "") return openScripted(kind, request);
  const close = nearest(kind ?? "", POLICY_KINDS);
  throw new InputError({
    message: `"${spec}" is not a policy${close === undefined ? "" : `, did you mean "${close === "embedded" ? "embedded:DIR" : close}"?`}`,
    value: spec,
    expected: "embedded:DIR (a checkpoint folder), oracle, or random",
    remedy: "give --policy one of these",
  });
}

async function openEmbedded(dir: string, { workers }: PolicyRequest): Promise<Policy> {
  const { Engine, readCheckpoint } = await import("../nn/index.js");
  const { EmbeddedPolicy } = await import("../policies/index.js");
  const { config, tokenizer, parameters } = await readCheckpoint(dir);
  const engine = await Engine.start({ config, workers });
  const policy = new EmbeddedPolicy(`embedded:${dir}`, engine, tokenizer, parameters);
  return { name: policy.name, rendering: policy.rendering, complete: (...args) => policy.complete(...args), close: () => engine.close() };
}

/** Answers by the instance that a prompt was made from. */
async function openScripted(kind: "oracle" | "random", { family, instances, objective }: PolicyRequest): Promise<Policy> {
  const { ScriptedPolicy } = await import("../policies/index.js");
  const rendering: Rendering = kind === "oracle" ? "compact" : "chat";
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
