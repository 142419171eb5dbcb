/**
 * Batches that a client sends again because its answer was lost: the same key (the header Idempotency-Key) with the same body is judged
 * once, also while the first is still being judged. The last `most` answers of at most `bytes` bytes are kept; older ones are judged anew.
 */
import { createHash } from "node:crypto";

export class RepeatedBatches<T> {
  private readonly answers = new Map<string, { answer: Promise<T>; size: number }>();
  private held = 0;

  constructor(
    private readonly sizeOf: (answer: T) => number,
    private readonly most = 256,
    private readonly bytes = 64 * 1024 * 1024,
  ) {}

  /** What `judge` made of this batch the first time. A failure is not kept: it was no answer. */
  once(key: string, body: ArrayBuffer, judge: () => Promise<T>): Promise<T> {
    const id = `${createHash("sha256").update(new Uint8Array(body)).digest("hex")} ${key}`;
    const known = this.answers.get(id);
    if (known !== undefined) return known.answer;
    const answer = judge();
    const entry = { answer, size: 0 };
    this.answers.set(id, entry);
    answer.then(
      (value) => {
        entry.size = this.sizeOf(value);
        this.held += entry.size;
        this.forget();
      },
      () => this.answers.delete(id),
    );
    return answer;
  }

  /** Oldest first; one that is still being judged is no answer yet and stays. */
  private forget(): void {
    for (const [id, { size }] of this.answers) {
      if (this.answers.size <= this.most && this.held <= this.bytes) return;
      if (size === 0) continue;
      this.answers.delete(id);
      this.held -= size;
    }
  }
}
