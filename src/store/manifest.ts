/**
 * The manifest of a stage (or of the run's own files): which files are finished, with their checksums. A file that the manifest does not
 * name counts as not there, whatever lies on the disk; a file whose bytes differ from its checksum is refused.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CorruptFileError, canonicalJson, parseJsonWith, RunFolderError, SCHEMA_VERSION } from "../core/index.js";
import { type Checksum, checksumOf } from "./checksum.js";
import { writeFileAtomic } from "./files.js";
import { storageFailure } from "./storage-failure.js";

export const MANIFEST_FILE = "manifest.json";

const checksumSchema = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().nonnegative(),
  /** Present for a folder: the hash is that of its `sha256sum` listing. */
  files: z.int().nonnegative().optional(),
});
const manifestSchema = z.strictObject({ schema_version: z.int(), files: z.record(z.string(), checksumSchema) });

export class Manifest {
  private constructor(
    readonly folder: string,
    private readonly files: Map<string, Checksum>,
  ) {}

  /** An absent manifest is an empty one. @throws {CorruptFileError} @throws {RunFolderError} for another schema version. */
  static async load(folder: string): Promise<Manifest> {
    const path = join(folder, MANIFEST_FILE);
    if (!existsSync(path)) return new Manifest(folder, new Map());
    const record = parseJsonWith(manifestSchema, await readFile(path, "utf8"), path, CorruptFileError);
    refuseOtherVersion(record.schema_version, path);
    return new Manifest(folder, new Map(Object.entries(record.files) as [string, Checksum][]));
  }

  has(name: string): boolean {
    return this.files.has(name) && existsSync(join(this.folder, name));
  }

  names(): string[] {
    return [...this.files.keys()].sort();
  }

  checksum(name: string): Checksum | undefined {
    return this.files.get(name);
  }

  /** Records a finished file or folder. */
  async register(name: string): Promise<void> {
    try {
      this.files.set(name, await checksumOf(join(this.folder, name)));
    } catch (cause) {
      throw storageFailure(cause, "read", join(this.folder, name));
    }
    await this.save();
  }

  async forget(names: readonly string[]): Promise<void> {
    if (names.filter((name) => this.files.delete(name)).length > 0) await this.save();
  }

  /** @throws {CorruptFileError} when the file is not in the manifest, is gone, or its bytes have changed. */
  async verify(name: string): Promise<void> {
    const path = join(this.folder, name);
    const expected = this.files.get(name);
    if (expected === undefined || !existsSync(path)) {
      throw new CorruptFileError({
        message: `${path}: ${expected === undefined ? "not recorded as finished" : "is gone"}`,
        value: path,
        expected: `a file that ${join(this.folder, MANIFEST_FILE)} names`,
        remedy: "check the path; a file of a finished step cannot be made again alone: restore it from a copy, or start a new run",
      });
    }
    const found = await checksumOf(path).catch((cause) => {
      throw storageFailure(cause, "read", path);
    });
    if (found.sha256 === expected.sha256) return;
    throw new CorruptFileError({
      message: `${path}: its content has changed since it was written (SHA-256 ${found.sha256.slice(0, 12)}…, ${found.bytes} bytes)`,
      value: path,
      expected: `SHA-256 ${expected.sha256.slice(0, 12)}…, ${expected.bytes} bytes, as in ${join(this.folder, MANIFEST_FILE)}`,
      remedy: "restore the file from a copy, or start a new run",
    });
  }

  private async save(): Promise<void> {
    const record = { schema_version: SCHEMA_VERSION, files: Object.fromEntries(this.files) };
    await writeFileAtomic(join(this.folder, MANIFEST_FILE), `${canonicalJson(record, 2)}\n`);
  }
}

export function refuseOtherVersion(version: number, path: string): void {
  if (version === SCHEMA_VERSION) return;
  throw new RunFolderError({
    message: `${path}: written with schema version ${version}, this program reads ${SCHEMA_VERSION}`,
    value: version,
    expected: `schema_version ${SCHEMA_VERSION}`,
    remedy: "use the version of envwright that made the run (run.json names it), or start a new run",
  });
}
