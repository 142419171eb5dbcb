/** A policy that answers by a function of the prompt: the oracle (certified optimum), uniformly random walks, recorded answers. */
import type { Completion, CompletionRequest, Policy, Rendering } from "../core/index.js";

export class ScriptedPolicy implements Policy {
  constructor(
    readonly name: string,
    readonly rendering: Rendering,
    private readonly answer: (request: CompletionRequest) => string,
  ) {}

  async complete(requests: readonly CompletionRequest[]): Promise<Completion[]> {
    return requests.map((request) => {
      const text = this.answer(request);
      return { text, tokens: text.split(/[\s>]+/).filter(Boolean).length, finishReason: "stop" as const };
    });
  }

  async close(): Promise<void> {}
}
