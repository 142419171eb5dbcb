import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CorruptFileError, InputError } from "../core/index.js";
import { decodeSafetensors, encodeSafetensors, readSafetensors, type Tensor, writeSafetensors } from "./safetensors.js";

const fixtures = fileURLToPath(new URL("./fixtures", import.meta.url));

/** A file with this header and as many zero bytes after it. */
function file(header: unknown, body: number): Uint8Array {
  const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.length + body);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  return bytes;
}

const tensor: fc.Arbitrary<Tensor> = fc
  .array(fc.integer({ min: 0, max: 5 }), { maxLength: 3 })
  .chain((shape) =>
    fc
      .float32Array({ minLength: shape.reduce((a, b) => a * b, 1), maxLength: shape.reduce((a, b) => a * b, 1) })
      .map((data) => ({ shape, data })),
  );
const tensors = fc
  .uniqueArray(fc.tuple(fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }), tensor), { selector: ([name]) => name, maxLength: 6 })
  .map((entries) => new Map(entries.filter(([name]) => name !== "__metadata__" && name !== "__proto__")));

const bits = (data: Float32Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("hex");

describe("safetensors", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "safetensors-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("come back bit for bit, NaNs and negative zeros too", () => {
    fc.assert(
      fc.property(tensors, (given) => {
        const back = decodeSafetensors(encodeSafetensors(given), "memory");
        expect(new Set(back.keys())).toEqual(new Set(given.keys()));
        for (const [name, { shape, data }] of given) {
          expect(back.get(name)!.shape).toEqual(shape);
          expect(bits(back.get(name)!.data)).toBe(bits(data));
        }
      }),
    );
  });

  it("come back from a file, each in memory of its own", async () => {
    const given = new Map([
      ["a", { shape: [2, 3], data: Float32Array.from([1, 2, 3, 4, 5, 6]) }],
      ["b", { shape: [1], data: Float32Array.of(-7) }],
    ]);
    await writeSafetensors(join(folder, "whole"), given);
    const back = await readSafetensors(join(folder, "whole"));
    expect(back).toEqual(given);
    back.get("a")!.data.fill(0);
    expect(back.get("b")!.data).toEqual(Float32Array.of(-7));
  });

  it("written twice are the same bytes, with a header that ends on a multiple of eight", () => {
    fc.assert(
      fc.property(tensors, (given) => {
        const bytes = encodeSafetensors(given);
        expect(Buffer.from(bytes).equals(Buffer.from(encodeSafetensors(given)))).toBe(true);
        expect(new DataView(bytes.buffer).getBigUint64(0, true) % 8n).toBe(0n);
      }),
    );
  });

  it.each(["half", "brain"])("of dtype %s are the float32 values that torch says", async (name) => {
    const recorded = await readSafetensors(join(fixtures, "halves.safetensors"));
    const { shape, data } = recorded.get(name)!;
    const expected = recorded.get(`${name}.expected`)!;
    expect(shape).toEqual(expected.shape);
    expect(data.length).toBe(512);
    data.forEach((x, i) => {
      expect(Object.is(x, expected.data[i]!), `value ${i}: ${x}, expected ${expected.data[i]}`).toBe(true);
    });
    expect(data.some(Number.isNaN) && data.includes(Number.POSITIVE_INFINITY)).toBe(true);
  });

  it("cut off anywhere are refused", async () => {
    const bytes = await readFile(join(fixtures, "saved-by-transformers/model.safetensors"));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: bytes.length - 1 }), (length) => {
        expect(() => decodeSafetensors(bytes.subarray(0, length), "cut")).toThrow(CorruptFileError);
      }),
    );
    expect(() => decodeSafetensors(bytes.subarray(0, bytes.length - 4), "cut")).toThrow(/tensor "model\..*cut off/);
  });

  const two = (first: unknown, second: unknown) => ({ first, second });
  const entry = (begin: number, end: number, shape = [(end - begin) / 4], dtype = "F32") => ({ dtype, shape, data_offsets: [begin, end] });
  it.each<[string, unknown, number, RegExp]>([
    ["overlapping tensors", two(entry(0, 8), entry(4, 12)), 12, /"first" and "second" overlap/],
    ["a tensor twice over the same bytes", two(entry(0, 8), entry(0, 8)), 8, /overlap/],
    ["a hole", two(entry(0, 8), entry(12, 16)), 16, /4 bytes before tensor "second"/],
    ["bytes after the end", two(entry(0, 8), entry(8, 16)), 20, /4 bytes after/],
    ["integers", two(entry(0, 8), entry(8, 16, [1], "I64")), 16, /"second" has dtype I64/],
    ["a shape that the bytes do not fill", two(entry(0, 8), entry(8, 16, [3])), 16, /"second" of shape \[3\] has 8 bytes/],
    ["offsets that run backwards", two(entry(8, 0, [2]), entry(8, 16)), 16, /"first"/],
    ["an entry without offsets", two({ dtype: "F32", shape: [1] }, entry(0, 8)), 8, /"first" is malformed/],
    ["a negative size", two(entry(0, 8, [-1, -2]), entry(8, 16)), 16, /"first" is malformed/],
    ["a header that is no JSON", '{"first":', 0, /header/],
    ["a header that is no object", "[1]", 0, /header/],
  ])("with %s are refused, saying which", (_, header, body, message) => {
    const read = () => decodeSafetensors(file(header, body), "weights");
    expect(read).toThrow(CorruptFileError);
    expect(read).toThrow(message);
    expect(read).toThrow(/weights/);
  });

  it("whose header claims more than the file holds, or more than there can be, are refused", () => {
    for (const claim of [100n, 2n ** 63n]) {
      const bytes = file("{}", 0);
      new DataView(bytes.buffer).setBigUint64(0, claim, true);
      expect(() => decodeSafetensors(bytes, "weights")).toThrow(/header says/);
    }
    const bytes = file("{}", 0);
    bytes[8] = 0xff;
    expect(() => decodeSafetensors(bytes, "weights")).toThrow(/not UTF-8/);
  });

  it("that are not there are refused with the path and a remedy", async () => {
    const error = await readSafetensors(join(folder, "nowhere")).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CorruptFileError);
    expect((error as CorruptFileError).explain()).toMatch(/nowhere[\s\S]*remedy/);
    await writeFile(join(folder, "short"), "abc");
    await expect(readSafetensors(join(folder, "short"))).rejects.toThrow(/3 bytes/);
  });

  it("are not written with a shape that the data do not fill", () => {
    expect(() => encodeSafetensors(new Map([["w", { shape: [2, 2], data: new Float32Array(3) }]]))).toThrow(InputError);
  });
});
