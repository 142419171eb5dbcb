/**
 * The policy that the engineer `llm` of a run asks: opened once, before anything is trained, so that a wrong specification or a missing key
 * is refused at once, and shared by all stages, so that its budget is one for the whole run.
 */
import type { Policy, Recipe } from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { type PolicyOpener, workerCount } from "../loop/index.js";
import { note } from "./notes.js";
import { openPolicy } from "./policy-spec.js";

export interface EngineerPolicy {
  /** Hands out the one policy; to close what is handed out does nothing. Undefined where the recipe's engineer asks none. */
  opener: PolicyOpener | undefined;
  close(): Promise<void>;
}

/**
 * @param recordTo folder that keeps every call of an endpoint or a GGUF file; a policy file's own comes first
 * @param asked workers in place of the recipe's: a GGUF file is read with as many threads, and more than there are idle cores make each other wait
 * @throws {InputError} for a specification that says nothing known, or a folder with the calls of another policy; {ConfigError} for a key that is not set
 */
export async function openEngineerPolicy(
  { engineer, family: name, workers }: Recipe,
  recordTo: string,
  asked?: number,
  open: typeof openPolicy = openPolicy,
): Promise<EngineerPolicy> {
  if (engineer.name !== "llm" || engineer.policy === undefined) return { opener: undefined, close: async () => {} };
  const family = familyByName(name);
  const objective = family.objectives[0]!;
  const request = { spec: engineer.policy, family, instances: [], objective, workers: workerCount(asked ?? workers) };
  const policy = await open({ ...request, recordTo, note });
  const lent: Policy = {
    name: policy.name,
    rendering: policy.rendering,
    ...(policy.settings === undefined ? {} : { settings: policy.settings }),
    complete: (...args) => policy.complete(...args),
    close: async () => {},
  };
  return { opener: async () => lent, close: () => policy.close() };
}
