/** A policy on a set of instances: prompts → completions → verdicts. Used by the loop's validation and by `envwright eval`. */
import type { EnvironmentFamily, FinishReason, InstanceBase, Policy, Seed, Verdict } from "../core/index.js";

export interface EvaluatedItem<I extends InstanceBase> {
  instance: I;
  prompt: string;
  completion: string;
  tokens: number;
  finishReason: FinishReason;
  /** Undefined after an outside failure: excluded from every rate, never a zero. */
  verdict: Verdict | undefined;
  failure?: { boundary: string; message: string; attempts: number };
}

export interface EvaluateRequest<I extends InstanceBase> {
  policy: Policy;
  family: EnvironmentFamily<unknown, I>;
  instances: readonly I[];
  seed: Seed;
  temperature: number;
  maxTokens: number;
  signal?: AbortSignal | undefined;
  onProgress?: (done: number, total: number) => void;
}

export async function evaluatePolicy<I extends InstanceBase>(request: EvaluateRequest<I>): Promise<EvaluatedItem<I>[]> {
  const { policy, family, instances } = request;
  const seed = request.seed.toString();
  const prompts = instances.map((instance) => family.prompt(instance, policy.rendering));
  const results = await policy.complete(
    prompts.map((prompt, index) => ({ prompt, seed, index, maxTokens: request.maxTokens, temperature: request.temperature })),
    {
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      onProgress: (done) => request.onProgress?.(done, instances.length),
    },
  );
  return results.map((result, i) => {
    const instance = instances[i]!;
    const prompt = prompts[i]!;
    if ("failure" in result)
      return { instance, prompt, completion: "", tokens: 0, finishReason: "stop", verdict: undefined, failure: result.failure };
    const verdict = family.verify(instance, result.text, result.finishReason, policy.rendering);
    return { instance, prompt, completion: result.text, tokens: result.tokens, finishReason: result.finishReason, verdict };
  });
}
