/**
 * Sessions of the native runtime (onnxruntime, CPU): created once per key and kept. A failure of the runtime is an EngineError that
 * names the graph. `run` blocks the calling thread: call it in a worker.
 */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { EngineError } from "../../core/index.js";

export { Tensor } from "onnxruntime-node";

export type Feeds = Readonly<Record<string, Tensor>>;

export interface SessionOptions {
  /** Threads inside one operator. Results may differ in the last bits between numbers of threads, never between runs. */
  readonly intraOpNumThreads?: number;
  /**
   * Takes denormal numbers for 0 in the thread that creates the session. Masked attention weights underflow into them, and products with
   * them take many times as long. For threads of our own, not for the main thread.
   */
  readonly flushDenormals?: boolean;
  /** Whether idle threads of the session wait busily for its next operator. Default true. */
  readonly spin?: boolean;
}

export class Session {
  private constructor(
    private readonly key: string,
    private readonly session: InferenceSession,
  ) {}

  /** @throws {EngineError} the runtime refused the graph. */
  static async create(key: string, model: Uint8Array, options: SessionOptions = {}): Promise<Session> {
    try {
      const session = await InferenceSession.create(model, {
        executionProviders: ["cpu"],
        intraOpNumThreads: options.intraOpNumThreads ?? 1,
        interOpNumThreads: 1,
        executionMode: "sequential",
        graphOptimizationLevel: "all",
        logSeverityLevel: 3,
        extra: {
          session: {
            set_denormal_as_zero: options.flushDenormals === true ? "1" : "0",
            intra_op: { allow_spinning: options.spin === false ? "0" : "1" },
          },
        },
      });
      return new Session(key, session);
    } catch (cause) {
      throw new EngineError({ message: `the native runtime refused the graph ${key}: ${text(cause)}`, value: key, cause });
    }
  }

  /** With tensors in `fetches`, outputs are written into them; with names only, the runtime makes them. @throws {EngineError} */
  async run(feeds: Feeds, fetches?: readonly string[] | Record<string, Tensor | null>): Promise<Record<string, Tensor>> {
    try {
      const results = fetches === undefined ? await this.session.run(feeds) : await this.session.run(feeds, fetches);
      return results as Record<string, Tensor>;
    } catch (cause) {
      throw new EngineError({ message: `the native runtime failed in the graph ${this.key}: ${text(cause)}`, value: this.key, cause });
    }
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

/** Least recently used sessions beyond `capacity` are released. */
export class SessionCache {
  private readonly sessions = new Map<string, Promise<Session>>();

  constructor(
    private readonly options: SessionOptions = {},
    private readonly capacity = 64,
  ) {}

  /** The session of `key`; `build` makes its model when it is not there yet. */
  async get(key: string, build: () => Uint8Array): Promise<Session> {
    const known = this.sessions.get(key);
    const session = known ?? Session.create(key, build(), this.options);
    this.sessions.delete(key);
    this.sessions.set(key, session);
    if (known === undefined) {
      session.catch(() => this.sessions.delete(key));
      if (this.sessions.size > this.capacity) {
        const [oldest, evicted] = this.sessions.entries().next().value!;
        this.sessions.delete(oldest);
        await (await evicted).release();
      }
    }
    return session;
  }

  async close(): Promise<void> {
    const open = [...this.sessions.values()];
    this.sessions.clear();
    for (const session of open) await (await session).release();
  }
}

export function floats(data: Float32Array, dims: readonly number[]): Tensor {
  return new Tensor("float32", data, dims);
}

export function integers(data: Int32Array, dims: readonly number[]): Tensor {
  return new Tensor("int32", data, dims);
}

/** One tensor per named part of a flat buffer, without copying. */
export function parameterTensors(
  specs: readonly { name: string; shape: readonly number[]; offset: number; size: number }[],
  flat: Float32Array,
): Record<string, Tensor> {
  return Object.fromEntries(specs.map((s) => [s.name, floats(flat.subarray(s.offset, s.offset + s.size), s.shape)]));
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
