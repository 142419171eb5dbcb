/** `envwright serve --openai`: the policy of a specification, opened and served. */
import { InputError } from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { workerCount } from "../loop/index.js";
import type { ServedPart } from "../server/host.js";
import { openAiPart } from "../server/openai/index.js";
import { openPolicy } from "./policy-spec.js";
import type { ServeRequest } from "./serve-modes.js";

/** Longest completion that is served. */
const MAX_TOKENS = 4096;

export async function openOpenAi({ policy: spec, modelName, family: name, workers }: ServeRequest): Promise<ServedPart> {
  if (spec === undefined) {
    throw new InputError({
      message: "--policy is missing",
      expected: "--policy SPEC: the policy to serve",
      remedy: "e.g. --policy embedded:DIR",
    });
  }
  const family = familyByName(name);
  // Nothing is known of what will be asked: the policies that answer from the instances refuse each question.
  const policy = await openPolicy({ spec, family, instances: [], objective: family.objectives[0]!, workers: workerCount(workers) });
  return openAiPart({ policy, model: modelName ?? policy.name, maxTokens: MAX_TOKENS });
}
