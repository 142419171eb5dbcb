/** A policy that answers by a function of the prompt: the oracle (certified optimum), uniformly random walks, recorded answers. */
import type { CompleteOptions, Completion, CompletionRequest, Policy, Rendering } from "../core/index.js";

export class ScriptedPolicy implements Policy {
  constructor(
    readonly name: string,
    readonly rendering: Rendering,
    private readonly answer: (request: CompletionRequest) => string,
  ) {}

  async complete(requests: readonly CompletionRequest[], options: CompleteOptions = {}): Promise<Completion[]> {
    return requests.map((request, i) => {
      const text = this.answer(request);
      const completion = { text, tokens: text.split(/[\s>]+/).filter(Boolean).length, finishReason: "stop" as const };
      options.onResult?.(i, completion);
      return completion;
    });
  }

  async close(): Promise<void> {}
}
