/**
 * safetensors in and out: u64 little-endian header length, JSON header, contiguous little-endian buffers. Everything is float32 in memory;
 * F16 and BF16 are converted when read. Refuses a file whose header and bytes do not agree, before any tensor is used.
 */
import { readFile, writeFile } from "node:fs/promises";
import { z } from "zod";
import { CorruptFileError, InputError, parseJsonWith } from "../core/index.js";

export interface Tensor {
  shape: number[];
  data: Float32Array;
}

const WIDTH: Record<string, number> = { F32: 4, F16: 2, BF16: 2 };
const MAX_HEADER = 100 * 1024 * 1024;

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.int().nonnegative()),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});
const headerSchema = z.record(z.string(), z.unknown());

/** @throws {CorruptFileError} naming the file and the tensor. */
export async function readSafetensors(path: string): Promise<Map<string, Tensor>> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw new CorruptFileError({ message: `${path} cannot be read: ${(cause as Error).message}`, remedy: "check the path", cause });
  }
  return decodeSafetensors(bytes, path);
}

export function decodeSafetensors(bytes: Uint8Array, what: string): Map<string, Tensor> {
  const corrupt = (problem: string, value?: unknown) =>
    new CorruptFileError({
      message: `${what}: ${problem}`,
      value,
      expected: "a whole safetensors file",
      remedy: "copy or save the checkpoint again",
    });
  if (bytes.length < 8) throw corrupt(`only ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = Number(view.getBigUint64(0, true));
  if (headerLength > MAX_HEADER || 8 + headerLength > bytes.length) {
    throw corrupt(`the header says it has ${headerLength} bytes, the file has ${bytes.length}`, headerLength);
  }
  let json: string;
  try {
    json = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, 8 + headerLength));
  } catch {
    throw corrupt("the header is not UTF-8");
  }
  const header = parseJsonWith(headerSchema, json, `${what}, header`, CorruptFileError);
  const body = bytes.subarray(8 + headerLength);
  const entries: { name: string; dtype: string; shape: number[]; begin: number; end: number }[] = [];
  for (const [name, value] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const parsed = entrySchema.safeParse(value);
    if (!parsed.success) throw corrupt(`the entry of tensor "${name}" is malformed`, value);
    const { dtype, shape, data_offsets } = parsed.data;
    const [begin, end] = data_offsets;
    const width = WIDTH[dtype];
    if (width === undefined) throw corrupt(`tensor "${name}" has dtype ${dtype}; F32, F16 and BF16 can be read`, dtype);
    const count = shape.reduce((a, b) => a * b, 1);
    if (end - begin !== count * width) throw corrupt(`tensor "${name}" of shape [${shape}] has ${end - begin} bytes`, data_offsets);
    if (end > body.length) throw corrupt(`tensor "${name}" ends at byte ${end} of ${body.length}: the file is cut off`, data_offsets);
    entries.push({ name, dtype, shape, begin, end });
  }
  // The format allows no holes: every byte belongs to one tensor.
  const spans = [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  spans.forEach(({ name, begin, end }, i) => {
    if (begin < at) throw corrupt(`tensors "${spans[i - 1]!.name}" and "${name}" overlap`);
    if (begin > at) throw corrupt(`${begin - at} bytes before tensor "${name}" belong to none`);
    at = end;
  });
  if (at < body.length) throw corrupt(`${body.length - at} bytes after the last tensor belong to none`);
  return new Map(entries.map(({ name, dtype, shape, begin, end }) => [name, { shape, data: toFloat32(body.subarray(begin, end), dtype) }]));
}

/** Deterministic: tensors in the order given, header padded with blanks to eight bytes. @throws {InputError} a shape that its data do not fill. */
export function encodeSafetensors(tensors: ReadonlyMap<string, Tensor>): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  let offset = 0;
  for (const [name, { shape, data }] of tensors) {
    if (shape.reduce((a, b) => a * b, 1) !== data.length) {
      throw new InputError({
        message: `tensor "${name}" of shape [${shape}] has ${data.length} values`,
        value: data.length,
        expected: "one for each place",
      });
    }
    header[name] = { dtype: "F32", shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  let json = JSON.stringify(header);
  json += " ".repeat((8 - (Buffer.byteLength(json) % 8)) % 8);
  const head = Buffer.from(json, "utf8");
  const bytes = new Uint8Array(8 + head.length + offset);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(head.length), true);
  bytes.set(head, 8);
  let at = 8 + head.length;
  for (const { data } of tensors.values()) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return bytes;
}

export async function writeSafetensors(path: string, tensors: ReadonlyMap<string, Tensor>): Promise<void> {
  await writeFile(path, encodeSafetensors(tensors));
}

function toFloat32(bytes: Uint8Array, dtype: string): Float32Array {
  // Not bytes.slice(): a Buffer's shares its memory, whose other bytes would come along.
  const copy = new Uint8Array(bytes);
  if (dtype === "F32") return new Float32Array(copy.buffer);
  const halves = new Uint16Array(copy.buffer);
  const out = new Float32Array(halves.length);
  const words = new Uint32Array(out.buffer);
  if (dtype === "BF16") {
    for (let i = 0; i < halves.length; i++) words[i] = halves[i]! << 16;
  } else {
    for (let i = 0; i < halves.length; i++) out[i] = halfToFloat(halves[i]!);
  }
  return out;
}

/** IEEE 754 binary16. */
function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
