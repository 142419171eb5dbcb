/**
 * Builds one ONNX graph: values with known shape and type, constants, inputs, outputs, nodes, and the tape that `autodiff.ts` reads.
 * Knows no operator: those are functions in `operators.ts`. Refuses duplicate names, which the runtime would only warn about.
 */
import { createHash } from "node:crypto";
import { InputError } from "../../core/index.js";
import { Message } from "./protobuf.js";

export type DataType = "float32" | "int32" | "int64" | "bool";
const ONNX_TYPE: Record<DataType, number> = { float32: 1, int32: 6, int64: 7, bool: 9 };

/** A size known when the graph is built, or the name of one that is known only when it runs. */
export type Dimension = number | string;
export type Shape = readonly Dimension[];

export interface Value {
  readonly name: string;
  readonly shape: Shape;
  readonly type: DataType;
}

export type Attribute = number | string | readonly number[] | { readonly float: number };

export interface GraphNode {
  readonly operator: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

export type ConstantData = Float32Array | Int32Array | BigInt64Array;

export interface Constant {
  readonly value: Value;
  readonly data: ConstantData;
}

/** Gradient of some rows of a table [V, d]: `updates` [M, d] is to be added at row `indices` [M] (int64, repeats allowed). */
export interface RowGradient {
  readonly indices: Value;
  readonly updates: Value;
}

export interface TapeEntry {
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  /** Gradient of each output (undefined where none flows) → for each input, how to compute its gradient. Called only where needed. */
  readonly backward: (gradients: readonly (Value | undefined)[]) => readonly ((() => Value | RowGradient) | undefined)[];
}

export class GraphBuilder {
  readonly nodes: GraphNode[] = [];
  readonly inputs: Value[] = [];
  readonly outputs: Value[] = [];
  readonly constants: Constant[] = [];
  readonly tape: TapeEntry[] = [];
  private readonly names = new Set<string>();
  private readonly constantByContent = new Map<string, Value>();
  private taping = true;
  private counter = 0;

  input(name: string, shape: Shape, type: DataType = "float32"): Value {
    const value = { name: this.claim(name), shape, type };
    this.inputs.push(value);
    return value;
  }

  /** Makes `value` a graph output called `name`. */
  output(name: string, value: Value): void {
    const out = { name: this.claim(name), shape: value.shape, type: value.type };
    this.nodes.push({ operator: "Identity", domain: "", inputs: [value.name], outputs: [name], attributes: {} });
    this.outputs.push(out);
  }

  /** Equal constants are stored once. */
  constant(data: ConstantData, shape: readonly number[]): Value {
    const type = data instanceof Float32Array ? "float32" : data instanceof Int32Array ? "int32" : "int64";
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const key = `${type}|${shape.join(",")}|${createHash("sha256").update(bytes).digest("base64")}`;
    const known = this.constantByContent.get(key);
    if (known !== undefined) return known;
    const count = shape.reduce((a, b) => a * b, 1);
    if (count !== data.length)
      throw new InputError({ message: `constant of shape [${shape}] with ${data.length} numbers`, expected: `${count} numbers` });
    const value: Value = { name: this.fresh("constant"), shape, type };
    this.constants.push({ value, data });
    this.constantByContent.set(key, value);
    return value;
  }

  scalar(x: number): Value {
    return this.constant(Float32Array.of(x), []);
  }

  /** A one-dimensional int64 constant, as shapes, axes and split sizes want it. */
  integers(values: readonly number[]): Value {
    return this.constant(BigInt64Array.from(values, BigInt), [values.length]);
  }

  /** Emits a node without gradient. Operators with a gradient call `record` as well. */
  node(
    operator: string,
    inputs: readonly (Value | undefined)[],
    outputs: readonly { shape: Shape; type?: DataType }[],
    attributes: Readonly<Record<string, Attribute>> = {},
    domain = "",
  ): Value[] {
    const values = outputs.map(({ shape, type }) => ({ name: this.fresh(operator), shape, type: type ?? ("float32" as const) }));
    this.nodes.push({ operator, domain, inputs: inputs.map((v) => v?.name ?? ""), outputs: values.map((v) => v.name), attributes });
    return values;
  }

  /** Enters an operator on the tape. Does nothing inside `untaped`: a composite's inner nodes would count twice. */
  record(entry: TapeEntry): void {
    if (this.taping) this.tape.push(entry);
  }

  /** Runs `build` with the tape switched off: for composites with a gradient of their own, and for the backward pass. */
  untaped<T>(build: () => T): T {
    const before = this.taping;
    this.taping = false;
    try {
      return build();
    } finally {
      this.taping = before;
    }
  }

  /** The ONNX model: IR 10, opset 21, com.microsoft 1. */
  build(): Uint8Array {
    const graph = new Message();
    for (const node of this.nodes) graph.message(1, nodeMessage(node));
    graph.string(2, "graph");
    for (const { value, data } of this.constants) {
      const tensor = new Message();
      for (const n of value.shape) tensor.integer(1, n as number);
      tensor.integer(2, ONNX_TYPE[value.type]).string(8, value.name);
      graph.message(5, tensor.bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));
    }
    for (const value of this.inputs) graph.message(11, valueMessage(value));
    for (const value of this.outputs) graph.message(12, valueMessage(value));
    const model = new Message().integer(1, 10).string(2, "envwright").message(7, graph);
    model.message(8, new Message().string(1, "").integer(2, 21));
    model.message(8, new Message().string(1, "com.microsoft").integer(2, 1));
    return model.finish();
  }

  private claim(name: string): string {
    if (this.names.has(name)) throw new InputError({ message: `two values of a graph are called ${name}`, value: name });
    this.names.add(name);
    return name;
  }

  private fresh(hint: string): string {
    return this.claim(`${hint}#${this.counter++}`);
  }
}

function nodeMessage(node: GraphNode): Message {
  const message = new Message();
  for (const name of node.inputs) message.string(1, name);
  for (const name of node.outputs) message.string(2, name);
  message.string(3, `${node.operator}@${node.outputs[0]}`).string(4, node.operator);
  for (const [name, value] of Object.entries(node.attributes)) message.message(5, attributeMessage(name, value));
  return message.string(7, node.domain);
}

function attributeMessage(name: string, value: Attribute): Message {
  const message = new Message().string(1, name);
  if (typeof value === "number") return message.integer(3, value).integer(20, 2);
  if (typeof value === "string") return message.string(4, value).integer(20, 3);
  if ("float" in value) return message.float(2, value.float).integer(20, 1);
  for (const n of value) message.integer(8, n);
  return message.integer(20, 7);
}

function valueMessage(value: Value): Message {
  const shape = new Message();
  for (const n of value.shape) shape.message(1, typeof n === "number" ? new Message().integer(1, n) : new Message().string(2, n));
  const tensor = new Message().integer(1, ONNX_TYPE[value.type]).message(2, shape);
  return new Message().string(1, value.name).message(2, new Message().message(1, tensor));
}
