/**
 * Keys and values of one decode batch as the decode graph reads them: those of the prompts, one block a slot, and those of the tokens
 * decoded so far, one block a place. All rows have decoded equally many tokens. Memory is kept from batch to batch and never handed out
 * uncleared: a number that is not finite would spread through weights of 0.
 */
import { floats, Tensor } from "./graph/session.js";
import type { Qwen3Config } from "./qwen3-config.js";
import type { RowLayout } from "./row-layout.js";

const HIDDEN = -1e9;
/** Decoded tokens that the cache grows by. */
const STEP = 16;

/** What the prefill graph gave: for each layer [prompts, KV, padded, hd]. */
export interface PromptStates {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
  readonly padded: number;
  /** Tokens of each prompt. */
  readonly lengths: readonly number[];
}

export class KeyValueCache {
  private readonly layers: readonly number[];
  private readonly hd: number;
  private readonly kvHeads: number;
  /** Keys of all layers, then values of all layers. `spare` takes turns with `own`. */
  private own: Float32Array[];
  private spare: Float32Array[];
  private readonly ofPrompts: Float32Array[];
  private mask = new Float32Array(0);
  private positions = new BigInt64Array(0);
  private newStates: Float32Array[] = [];

  private prompts: PromptStates | undefined;
  private promptLength = 0;
  private layout: RowLayout | undefined;
  private decoded = 0;
  private capacity = 0;

  constructor(config: Qwen3Config) {
    this.layers = Array.from({ length: config.num_hidden_layers }, (_, l) => l);
    this.hd = config.head_dim;
    this.kvHeads = config.num_key_value_heads;
    const none = () => Array.from({ length: 2 * config.num_hidden_layers }, () => new Float32Array(0));
    [this.own, this.spare, this.ofPrompts] = [none(), none(), none()];
  }

  /** Begins a batch; `place` comes next. */
  start(prompts: PromptStates): void {
    this.prompts = prompts;
    this.promptLength = Math.ceil(Math.max(...prompts.lengths) / 8) * 8;
    this.layout = undefined;
    this.decoded = 0;
  }

  /** Whether there is no room for another token: `place` makes some. */
  get full(): boolean {
    return this.decoded === this.capacity;
  }

  /** Arranges the rows anew and gives the inputs and outputs of the decode graph for that arrangement. */
  place(layout: RowLayout): { inputs: Record<string, Tensor>; outputs: Record<string, Tensor> } {
    const { kvHeads, hd, decoded } = this;
    const before = this.capacity;
    this.capacity = (Math.floor(decoded / STEP) + 1) * STEP;
    this.copyPrompts(layout);
    const oldPlace = new Map(this.layout?.places.map((row, place) => [row, place]));
    const oldRows = this.layout?.places.length ?? 0;
    const rows = layout.places.length;
    const block = this.capacity * hd;
    this.own.forEach((from, i) => {
      const to = withRoom(this.spare, i, kvHeads * rows * block);
      for (let h = 0; h < kvHeads; h++) {
        layout.places.forEach((row, place) => {
          const at = (h * rows + place) * block;
          const old = row === undefined ? undefined : oldPlace.get(row);
          const kept = old === undefined ? 0 : decoded * hd;
          if (old !== undefined) {
            const start = (h * oldRows + old) * before * hd;
            to.set(from.subarray(start, start + kept), at);
          }
          to.fill(0, at + kept, at + block);
        });
      }
    });
    [this.own, this.spare] = [this.spare, this.own];
    this.layout = layout;
    this.fillMask(layout);
    return { inputs: this.inputs(layout), outputs: this.outputs(rows) };
  }

  /** Keeps the new keys and values that the decode graph wrote into its outputs, and shows them to the next step. */
  append(): void {
    const { kvHeads, hd, capacity, decoded } = this;
    const rows = this.layout!.places.length;
    this.newStates.forEach((from, i) => {
      const to = this.own[i]!;
      for (let block = 0; block < kvHeads * rows; block++) {
        const source = block * hd;
        const target = (block * capacity + decoded) * hd;
        for (let j = 0; j < hd; j++) to[target + j] = from[source + j]!;
      }
    });
    const width = this.maskWidth;
    for (let r = 0; r < rows; r++) {
      this.mask[r * width + this.promptLength + decoded] = 0;
      this.positions[r] = this.positions[r]! + 1n;
    }
    this.decoded += 1;
  }

  private copyPrompts(layout: RowLayout): void {
    const { kvHeads, hd, promptLength } = this;
    const { keys, values, padded } = this.prompts!;
    const slots = layout.prompts.length;
    const used = promptLength * hd;
    [...keys, ...values].forEach((from, i) => {
      const to = withRoom(this.ofPrompts, i, kvHeads * slots * used);
      for (let h = 0; h < kvHeads; h++) {
        layout.prompts.forEach((prompt, slot) => {
          const start = (prompt * kvHeads + h) * padded * hd;
          to.set(from.subarray(start, start + used), (h * slots + slot) * used);
        });
      }
    });
  }

  private fillMask(layout: RowLayout): void {
    const { promptLength, decoded, maskWidth: width } = this;
    const rows = layout.places.length;
    this.mask = new Float32Array(rows * width).fill(HIDDEN);
    this.positions = new BigInt64Array(rows);
    for (let r = 0; r < rows; r++) {
      const length = this.prompts!.lengths[layout.prompts[Math.floor(r / layout.width)]!]!;
      this.positions[r] = BigInt(length + decoded);
      this.mask.fill(0, r * width, r * width + length);
      this.mask.fill(0, r * width + promptLength, r * width + promptLength + decoded);
      this.mask[(r + 1) * width - 1] = 0;
    }
  }

  private inputs(layout: RowLayout): Record<string, Tensor> {
    const { kvHeads, hd, capacity, promptLength } = this;
    const [slots, rows] = [layout.prompts.length, layout.places.length];
    const integers = (values: readonly number[]) => new Tensor("int64", BigInt64Array.from(values, BigInt), [values.length]);
    const inputs: Record<string, Tensor> = {
      grid: integers([0, 0, -1, layout.width, 0]),
      parts: integers([promptLength, capacity, 1]),
      mask: floats(this.mask, [rows, 1, this.maskWidth]),
      positions: new Tensor("int64", this.positions, [1, rows]),
    };
    const part = (buffer: Float32Array, shape: readonly number[]) =>
      floats(
        buffer.subarray(
          0,
          shape.reduce((a, b) => a * b, 1),
        ),
        shape,
      );
    for (const l of this.layers) {
      for (const [at, prompt, own] of [
        [l, `promptK${l}`, `k${l}`],
        [this.layers.length + l, `promptV${l}`, `v${l}`],
      ] as const) {
        inputs[prompt] = part(this.ofPrompts[at]!, [kvHeads, 1, slots, promptLength, hd]);
        inputs[own] = part(this.own[at]!, [kvHeads, 1, rows, capacity, hd]);
      }
    }
    return inputs;
  }

  private outputs(rows: number): Record<string, Tensor> {
    const shape = [1, this.kvHeads, rows, this.hd];
    this.newStates = this.own.map(() => new Float32Array(this.kvHeads * rows * this.hd));
    const outputs: Record<string, Tensor> = {};
    for (const l of this.layers) {
      outputs[`newK${l}`] = floats(this.newStates[l]!, shape);
      outputs[`newV${l}`] = floats(this.newStates[this.layers.length + l]!, shape);
    }
    return outputs;
  }

  private get maskWidth(): number {
    return this.promptLength + this.capacity + 1;
  }
}

/** The buffer at `index`, replaced by a larger one where it is too small. */
function withRoom(buffers: Float32Array[], index: number, size: number): Float32Array {
  const known = buffers[index]!;
  if (known.length >= size) return known;
  const larger = new Float32Array(size);
  buffers[index] = larger;
  return larger;
}
