/** A policy that answers from the records of an earlier one, without it. A request that was never recorded is a failure, not an answer. */
import {
  type CompleteOptions,
  type Completion,
  type CompletionFailure,
  type CompletionRequest,
  InterruptedError,
  type Policy,
  type Rendering,
} from "../core/index.js";
import { type CallRecord, requestKey, resultOf } from "./endpoint/call-record.js";

export class ReplayPolicy implements Policy {
  private readonly results = new Map<string, Completion | CompletionFailure>();

  /** @param records in the order in which they were written: an answer stands, a failure gives way to what came later. */
  constructor(
    readonly name: string,
    readonly rendering: Rendering,
    records: Iterable<CallRecord>,
  ) {
    for (const record of records) {
      const held = this.results.get(record.key);
      if (held === undefined || "failure" in held) this.results.set(record.key, resultOf(record));
    }
  }

  async complete(requests: readonly CompletionRequest[], options: CompleteOptions = {}): Promise<(Completion | CompletionFailure)[]> {
    if (options.signal?.aborted) throw new InterruptedError({ message: "interrupted while replaying" });
    return requests.map((request, i) => {
      const result = this.results.get(requestKey(request)) ?? MISSING;
      options.onResult?.(i, result);
      options.onProgress?.(i + 1);
      return result;
    });
  }

  async close(): Promise<void> {}
}

const MISSING: CompletionFailure = {
  failure: { boundary: "replay", message: "this request is not among the records: the set, the seed or the sampling differs", attempts: 0 },
};
