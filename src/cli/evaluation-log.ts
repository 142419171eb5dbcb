/**
 * rollouts.jsonl of an evaluation on disk: read as a stream, so that it need not fit into memory, and brought into the order of the set at
 * the end, with one line a sample. A line without its line feed was cut off by a kill and does not count; a broken line elsewhere is refused.
 */
import { open } from "node:fs/promises";
import { type SampleRecord, sampleRecordSchema } from "../evaluation/index.js";
import { type JsonLine, produceFileAtomic, streamJsonLines } from "../store/index.js";

/** Every whole line, in order. @throws {CorruptFileError} naming the line; {StorageError} */
export const readLog = (path: string): AsyncGenerator<JsonLine<SampleRecord>> => streamJsonLines(path, sampleRecordSchema);

/**
 * Rewrites the log with the one line that counts for each of `total` samples, in their order: the first answer, else the last failure.
 * Leaves a file that is in order already. Holds places, not lines.
 */
export async function orderLog(path: string, total: number, slotOf: (record: SampleRecord, from: string) => number): Promise<void> {
  const offsets = new Float64Array(total).fill(-1);
  const lengths = new Float64Array(total);
  const answered = new Uint8Array(total);
  let ordered = true;
  let next = 0;
  for await (const { record, offset, length, from } of readLog(path)) {
    const slot = slotOf(record, from);
    if (slot !== next++) ordered = false;
    if (answered[slot]) continue;
    answered[slot] = record.failure === undefined ? 1 : 0;
    offsets[slot] = offset;
    lengths[slot] = length;
  }
  if (ordered) return;
  const source = await open(path, "r");
  try {
    await produceFileAtomic(path, async (temporary) => {
      const target = await open(temporary, "w");
      try {
        for (let slot = 0; slot < total; slot++) {
          if (offsets[slot]! < 0) continue;
          const line = Buffer.alloc(lengths[slot]!);
          await source.read(line, 0, line.length, offsets[slot]!);
          await target.write(line);
        }
      } finally {
        await target.close();
      }
    });
  } finally {
    await source.close();
  }
}
