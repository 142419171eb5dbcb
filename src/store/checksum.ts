/** SHA-256 of files and folders: what a manifest records and a reader compares. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { isTemporary } from "./files.js";

export interface Checksum {
  sha256: string;
  bytes: number;
  /** Number of files, for a folder. */
  files?: number;
}

export async function checksumOf(path: string): Promise<Checksum> {
  return (await stat(path)).isDirectory() ? checksumOfFolder(path) : checksumOfFile(path);
}

async function checksumOfFile(path: string): Promise<Checksum> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest("hex"), bytes };
}

/** The hash of a listing, one `<sha256>  <path>` a line, sorted by path with "/" between its parts: as `sha256sum` prints it. */
async function checksumOfFolder(folder: string): Promise<Checksum> {
  const names = await filesBelow(folder);
  const hash = createHash("sha256");
  let bytes = 0;
  for (const name of names) {
    const file = await checksumOfFile(join(folder, name));
    hash.update(`${file.sha256}  ${name}\n`);
    bytes += file.bytes;
  }
  return { sha256: hash.digest("hex"), bytes, files: names.length };
}

/** Paths of the finished files below a folder, relative to it, with "/" between their parts, sorted. */
export async function filesBelow(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !isTemporary(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort((a, b) => (a < b ? -1 : 1));
}
