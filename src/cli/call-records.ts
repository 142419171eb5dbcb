/**
 * The records of a policy's calls as a folder: policy.json says who answered and in which rendering, calls.jsonl has one line a request.
 * A folder is written by one policy; another model is refused, since their answers would be mixed. The same at another address goes on in it:
 * every call names who answered.
 */
import { closeSync, existsSync, mkdirSync, openSync, readSync, renameSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  type Completion,
  type CompletionFailure,
  CorruptFileError,
  canonicalJson,
  InputError,
  type Policy,
  parseJsonWith,
  type Rendering,
  SCHEMA_VERSION,
  schemaVersion,
} from "../core/index.js";
import {
  AskedValues,
  apartFromAddress,
  type CallRecord,
  type CallRecorder,
  callRecordSchema,
  type RecordedCalls,
  ReplayPolicy,
  replaySettings,
  resultOf,
  withoutAddress,
} from "../policies/index.js";
import { temporaryPath } from "../store/files.js";
import { JsonLinesWriter, streamJsonLines } from "../store/index.js";
import { storageFailure } from "../store/storage-failure.js";

const HEAD = "policy.json";
const CALLS = "calls.jsonl";
const headSchema = z.strictObject({
  schema_version: schemaVersion,
  policy: z.string(),
  rendering: z.enum(["chat", "compact"]),
  /** What decided the answers beside the requests; absent in folders made before it was kept. */
  settings: z.record(z.string(), z.json()).optional(),
});
type Head = z.infer<typeof headSchema>;

/** Records into a folder, which is made with the first call: a policy that is never asked leaves nothing. */
export class CallFolder implements CallRecorder {
  private writer: JsonLinesWriter | undefined;

  private constructor(
    private readonly dir: string,
    private readonly head: Head,
  ) {}

  /** @throws {InputError} a folder with the records of another policy, or of the same under other settings. */
  static async open(dir: string, policy: string, rendering: Rendering, settings?: Policy["settings"]): Promise<CallFolder> {
    const head: Head = {
      ...{ schema_version: SCHEMA_VERSION, policy, rendering },
      ...(settings === undefined ? {} : { settings: settings as NonNullable<Head["settings"]> }),
    };
    if (existsSync(join(dir, HEAD))) {
      const held = await readHead(dir);
      const apart = (settings: Head["settings"]) => canonicalJson(apartFromAddress(settings ?? {}));
      const sameSettings = held.settings === undefined || apart(held.settings) === apart(head.settings);
      if (withoutAddress(held.policy) !== withoutAddress(policy) || held.rendering !== rendering || !sameSettings) {
        const of = (h: Head) => `${h.policy} (${h.rendering}${sameSettings ? "" : `, ${canonicalJson(h.settings ?? {})}`})`;
        throw new InputError({
          message: `${dir} holds the calls of ${of(held)}`,
          value: dir,
          expected: `the calls of ${of(head)}`,
          remedy: "ask the policy that was recorded, or record into a new folder",
        });
      }
    }
    return new CallFolder(dir, head);
  }

  /** Synchronous, so that records keep the order in which calls end. @throws {StorageError} */
  record(call: CallRecord): void {
    this.writer ??= this.open();
    this.writer.append(call);
  }

  close(): void {
    this.writer?.close();
    this.writer = undefined;
  }

  private open(): JsonLinesWriter {
    const path = join(this.dir, HEAD);
    if (!existsSync(path)) {
      try {
        mkdirSync(this.dir, { recursive: true });
        const temporary = temporaryPath(path);
        writeFileSync(temporary, `${canonicalJson(this.head, 2)}\n`);
        renameSync(temporary, path);
      } catch (cause) {
        throw storageFailure(cause, "write", path);
      }
    }
    return JsonLinesWriter.open(join(this.dir, CALLS), "close");
  }
}

/** @throws {InputError} a folder without records; {CorruptFileError} a broken line that is not the last. */
export async function openReplay(dir: string): Promise<ReplayPolicy> {
  const { policy, rendering, settings } = await readHead(dir);
  return new ReplayPolicy(policy, rendering, await CallIndex.read(join(dir, CALLS)), settings);
}

/** The replay of a folder as it would be opened, from its head alone. @throws {InputError} a folder without records */
export async function describeReplay(dir: string): Promise<Pick<Policy, "name" | "rendering" | "settings">> {
  const { policy, rendering, settings } = await readHead(dir);
  return { name: policy, rendering, settings: replaySettings(policy, settings ?? {}) };
}

/** Where each call lies in its file; the texts stay there, so that a hundred thousand calls fit. */
class CallIndex implements RecordedCalls {
  readonly asked = new AskedValues();
  private readonly places = new Map<string, { offset: number; length: number; failed: boolean }>();
  private fd: number | undefined;

  private constructor(private readonly path: string) {}

  /** An answer stands, a failure gives way to what was recorded later. */
  static async read(path: string): Promise<CallIndex> {
    const index = new CallIndex(path);
    for await (const { record, offset, length } of streamJsonLines(path, callRecordSchema)) {
      index.asked.add(record.request);
      if (index.places.get(record.key)?.failed === false) continue;
      index.places.set(record.key, { offset, length, failed: record.completion === undefined });
    }
    return index;
  }

  result(key: string): Completion | CompletionFailure | undefined {
    const place = this.places.get(key);
    if (place === undefined) return undefined;
    const line = Buffer.alloc(place.length);
    try {
      this.fd ??= openSync(this.path, "r");
      readSync(this.fd, line, 0, place.length, place.offset);
    } catch (cause) {
      throw storageFailure(cause, "read", this.path);
    }
    return resultOf(parseJsonWith(callRecordSchema, line.toString("utf8"), this.path, CorruptFileError));
  }

  close(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
  }
}

async function readHead(dir: string): Promise<Head> {
  const path = join(dir, HEAD);
  if (existsSync(path)) return parseJsonWith(headSchema, await readFile(path, "utf8"), path, CorruptFileError);
  throw new InputError({
    message: `${dir} has no ${HEAD}`,
    value: dir,
    expected: "a folder with the records of calls",
    remedy: "check the path",
  });
}
