/** What a set of instances is, apart from ids and file names: reports with the same value judged the same boards in the same order. */
import { createHash } from "node:crypto";
import type { InstanceBase } from "./records.js";

/** SHA-256 over the canonical hashes in order. */
export function setHash(instances: readonly InstanceBase[]): string {
  const digest = createHash("sha256");
  for (const instance of instances) digest.update(`${instance.hash}\n`);
  return digest.digest("hex");
}
