/**
 * A writer for the part of protobuf that ONNX models need: varints, 32-bit floats, strings, bytes and nested messages.
 * Writes only; field numbers are those of onnx.proto3.
 */
const text = new TextEncoder();

/** One message under construction; methods chain. Bytes are gathered in chunks, so that large tensors are copied once, at the end. */
export class Message {
  private readonly chunks: Uint8Array[] = [];
  private length = 0;

  /** int32, int64, enum or bool field; the value must be a safe integer. */
  integer(field: number, value: number): this {
    this.push(varint(field * 8));
    return this.push(varint(value));
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    this.push(varint(field * 8 + 5));
    return this.push(bytes);
  }

  string(field: number, value: string): this {
    return this.bytes(field, text.encode(value));
  }

  bytes(field: number, value: Uint8Array): this {
    this.push(varint(field * 8 + 2));
    this.push(varint(value.length));
    return this.push(value);
  }

  message(field: number, value: Message): this {
    this.push(varint(field * 8 + 2));
    this.push(varint(value.length));
    for (const chunk of value.chunks) this.push(chunk);
    return this;
  }

  finish(): Uint8Array {
    const out = new Uint8Array(this.length);
    let at = 0;
    for (const chunk of this.chunks) {
      out.set(chunk, at);
      at += chunk.length;
    }
    return out;
  }

  private push(chunk: Uint8Array): this {
    this.chunks.push(chunk);
    this.length += chunk.length;
    return this;
  }
}

function varint(value: number): Uint8Array {
  // Negative numbers are ten bytes of two's complement: BigInt is slow but they are rare.
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Uint8Array.from(bytes);
}
