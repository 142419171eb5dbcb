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
  private readonly lastPosition: bigint;
  /** Keys and values layer by layer: k0, v0, k1, … `spare` takes turns with `own`. */
  private own: Float32Array[];
  private spare: Float32Array[];
  private readonly ofPrompts: Float32Array[];
  private mask = new Float32Array(0);
  private positions = new BigInt64Array(0);
  private newStates = new Float32Array(0);

  private prompts: PromptStates | undefined;
  private promptLength = 0;
  private layout: RowLayout | undefined;
  private decoded = 0;
  private capacity = 0;

  constructor(config: Qwen3Config) {
    this.layers = Array.from({ length: config.num_hidden_layers }, (_, l) => l);
    this.hd = config.head_dim;
    this.kvHeads = config.num_key_value_heads;
    this.lastPosition = BigInt(config.max_position_embeddings - 1);
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
    const before = this.layout;
    const oldCapacity = this.capacity;
    this.capacity = (Math.floor(this.decoded / STEP) + 1) * STEP;
    if (before?.prompts.join() !== layout.prompts.join()) this.copyPrompts(layout);
    const oldPlaces = new Map(before?.places.map((row, place) => [row, place]));
    const sources = layout.places.map((row) => (row === undefined ? undefined : oldPlaces.get(row)));
    if (before !== undefined && this.capacity === oldCapacity) this.moveRows(sources, before.places.length);
    else this.widenRows(sources, before?.places.length ?? 0, oldCapacity);
    this.layout = layout;
    this.fillMask(layout);
    return { inputs: this.inputs(layout), outputs: this.outputs(layout.places.length) };
  }

  /** Copies the block of each place from the old place in `sources`, neighbours at once, and clears places without one. */
  private moveRows(sources: readonly (number | undefined)[], oldRows: number): void {
    const { kvHeads, hd, capacity } = this;
    const rows = sources.length;
    const block = capacity * hd;
    const runs: { from: number; to: number; length: number }[] = [];
    const empty: number[] = [];
    sources.forEach((from, to) => {
      const run = runs.at(-1);
      if (from === undefined) empty.push(to);
      else if (run !== undefined && run.from + run.length === from && run.to + run.length === to) run.length += 1;
      else runs.push({ from, to, length: 1 });
    });
    this.own.forEach((old, i) => {
      const next = withRoom(this.spare, i, kvHeads * rows * block);
      for (let h = 0; h < kvHeads; h++) {
        for (const { from, to, length } of runs) {
          const start = (h * oldRows + from) * block;
          next.set(old.subarray(start, start + length * block), (h * rows + to) * block);
        }
        for (const to of empty) next.fill(0, (h * rows + to) * block, (h * rows + to + 1) * block);
      }
    });
    [this.own, this.spare] = [this.spare, this.own];
  }

  /** The same into blocks of another capacity; what lies behind the decoded tokens is cleared. */
  private widenRows(sources: readonly (number | undefined)[], oldRows: number, oldCapacity: number): void {
    const { kvHeads, hd, capacity, decoded } = this;
    const rows = sources.length;
    this.own.forEach((old, i) => {
      const next = withRoom(this.spare, i, kvHeads * rows * capacity * hd);
      next.fill(0, 0, kvHeads * rows * capacity * hd);
      if (decoded === 0) return;
      for (let h = 0; h < kvHeads; h++) {
        sources.forEach((from, to) => {
          if (from === undefined) return;
          const start = (h * oldRows + from) * oldCapacity * hd;
          next.set(old.subarray(start, start + decoded * hd), (h * rows + to) * capacity * hd);
        });
      }
    });
    [this.own, this.spare] = [this.spare, this.own];
  }

  /** Keeps the new keys and values that the decode graph wrote into its outputs, and shows them to the next step. */
  append(): void {
    const { kvHeads, hd, capacity, decoded } = this;
    const rows = this.layout!.places.length;
    const from = this.newStates;
    let source = 0;
    for (const to of this.own) {
      for (let block = 0; block < kvHeads * rows; block++) {
        const target = (block * capacity + decoded) * hd;
        for (let j = 0; j < hd; j++) to[target + j] = from[source++]!;
      }
    }
    const width = this.maskWidth;
    for (let r = 0; r < rows; r++) {
      this.mask[r * width + this.promptLength + decoded] = 0;
      // Only a place whose row has ended can get as far as the last one.
      if (this.positions[r]! < this.lastPosition) this.positions[r] = this.positions[r]! + 1n;
    }
    this.decoded += 1;
  }

  private copyPrompts(layout: RowLayout): void {
    const { kvHeads, hd, promptLength } = this;
    const { keys, values, padded } = this.prompts!;
    const slots = layout.prompts.length;
    const used = promptLength * hd;
    this.ofPrompts.forEach((_, i) => {
      const from = (i % 2 === 0 ? keys : values)[i >> 1]!;
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
      const position = BigInt(length + decoded);
      this.positions[r] = position < this.lastPosition ? position : this.lastPosition;
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
        [2 * l, `promptK${l}`, `k${l}`],
        [2 * l + 1, `promptV${l}`, `v${l}`],
      ] as const) {
        inputs[prompt] = part(this.ofPrompts[at]!, [kvHeads, 1, slots, promptLength, hd]);
        inputs[own] = part(this.own[at]!, [kvHeads, 1, rows, capacity, hd]);
      }
    }
    return inputs;
  }

  private outputs(rows: number): Record<string, Tensor> {
    const shape = [this.own.length, this.kvHeads, rows, this.hd];
    const size = this.own.length * this.kvHeads * rows * this.hd;
    if (this.newStates.length < size) this.newStates = new Float32Array(size);
    return { states: floats(this.newStates.subarray(0, size), shape) };
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
