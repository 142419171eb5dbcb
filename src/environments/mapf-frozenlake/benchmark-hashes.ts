export function reservedHashes(): ReadonlySet<string> {
  return new Set();
}
