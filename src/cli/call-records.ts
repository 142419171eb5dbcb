/**
 * The records of a policy's calls as a folder: policy.json says who answered and in which rendering, calls.jsonl has one line a request.
 * A folder is written by one policy; another model is refused, since their answers would be mixed.
 */
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  CorruptFileError,
  canonicalJson,
  InputError,
  parseJsonWith,
  type Rendering,
  SCHEMA_VERSION,
  schemaVersion,
} from "../core/index.js";
import { type CallRecord, type CallRecorder, callRecordSchema, ReplayPolicy } from "../policies/index.js";
import { temporaryPath } from "../store/files.js";
import { JsonLinesWriter, readJsonLines } from "../store/index.js";
import { storageFailure } from "../store/storage-failure.js";

const HEAD = "policy.json";
const CALLS = "calls.jsonl";
const headSchema = z.strictObject({ schema_version: schemaVersion, policy: z.string(), rendering: z.enum(["chat", "compact"]) });

/** Records into a folder, which is made with the first call: a policy that is never asked leaves nothing. */
export class CallFolder implements CallRecorder {
  private writer: JsonLinesWriter | undefined;

  private constructor(
    private readonly dir: string,
    private readonly head: z.infer<typeof headSchema>,
  ) {}

  /** @throws {InputError} a folder with the records of another policy. */
  static async open(dir: string, policy: string, rendering: Rendering): Promise<CallFolder> {
    if (existsSync(join(dir, HEAD))) {
      const held = await readHead(dir);
      if (held.policy !== policy || held.rendering !== rendering) {
        throw new InputError({
          message: `${dir} holds the calls of ${held.policy} (${held.rendering})`,
          value: dir,
          expected: `the calls of ${policy} (${rendering})`,
          remedy: "record into a new folder",
        });
      }
    }
    return new CallFolder(dir, { schema_version: SCHEMA_VERSION, policy, rendering });
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

/** @throws {InputError} a folder without records. */
export async function openReplay(dir: string): Promise<ReplayPolicy> {
  const { policy, rendering } = await readHead(dir);
  return new ReplayPolicy(policy, rendering, await readJsonLines(join(dir, CALLS), callRecordSchema));
}

async function readHead(dir: string): Promise<z.infer<typeof headSchema>> {
  const path = join(dir, HEAD);
  if (existsSync(path)) return parseJsonWith(headSchema, await readFile(path, "utf8"), path, CorruptFileError);
  throw new InputError({
    message: `${dir} has no ${HEAD}`,
    value: dir,
    expected: "a folder with the records of calls",
    remedy: "check the path",
  });
}
