/**
 * Requests that arrive one by one → batches for a policy: what arrives while it is busy is asked together next, so that an engine with
 * many rows is filled. One request that breaks its batch is told apart by asking each of the batch alone; it never fails its neighbours.
 */
import { type Completion, type CompletionFailure, type CompletionRequest, InputError, type Policy } from "../../core/index.js";

/** Boundary of a failure that is the request's own fault: the policy refuses what was asked. */
export const REQUEST_BOUNDARY = "request";

interface Waiting {
  request: CompletionRequest;
  settle: (answer: Completion | CompletionFailure) => void;
}

export class Batcher {
  private waiting: Waiting[] = [];
  private running: Promise<void> | undefined;

  constructor(
    private readonly policy: Policy,
    /** Most requests asked at once. */
    private readonly largest = 512,
  ) {}

  ask(request: CompletionRequest): Promise<Completion | CompletionFailure> {
    return new Promise((settle) => {
      this.waiting.push({ request, settle });
      // Started in the next turn of the event loop: what arrives in this one goes along.
      this.running ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.drain());
    });
  }

  /** When everything asked so far is answered. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) await this.answer(this.waiting.splice(0, this.largest));
    this.running = undefined;
  }

  private async answer(batch: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.policy.complete(batch.map(({ request }) => request));
      batch.forEach(({ settle }, i) => {
        settle(answers[i] ?? failure("policy", "the policy gave no answer"));
      });
    } catch (error) {
      if (batch.length > 1) for (const one of batch) await this.answer([one]);
      else batch[0]!.settle(failure(error instanceof InputError ? REQUEST_BOUNDARY : "policy", messageOf(error)));
    }
  }
}

const failure = (boundary: string, message: string): CompletionFailure => ({ failure: { boundary, message, attempts: 1 } });
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
