/**
 * Keys and values of the rows of one decode batch, [rows, KV, capacity, hd] for each layer, and the mask that hides empty slots. The
 * graph reads these arrays where they lie; the sampler writes one slot a row and step. Rows keep their own lengths.
 */
import { floats, type Tensor } from "./graph/session.js";
import type { Qwen3Config } from "./qwen3-config.js";

const HIDDEN = -1e9;

export class KeyValueCache {
  private keys: Float32Array[];
  private values: Float32Array[];
  private mask: Float32Array;
  private lengths: Int32Array;
  private newKeys: Float32Array[] = [];
  private newValues: Float32Array[] = [];
  private inputTensors: Record<string, Tensor> | undefined;
  private outputTensors: Record<string, Tensor> | undefined;

  constructor(
    private readonly config: Qwen3Config,
    public rows: number,
    public capacity: number,
  ) {
    const size = () => new Float32Array(rows * this.rowSize);
    this.keys = this.layers().map(size);
    this.values = this.layers().map(size);
    this.mask = new Float32Array(rows * capacity).fill(HIDDEN);
    this.lengths = new Int32Array(rows);
  }

  length(row: number): number {
    return this.lengths[row]!;
  }

  /** Fills a row from a prompt's keys and values [P, KV, T, hd] of one layer. */
  copyPrompt(row: number, layer: number, keys: Float32Array, values: Float32Array, prompt: number, padded: number, length: number): void {
    const { num_key_value_heads: kvHeads, head_dim: hd } = this.config;
    for (let h = 0; h < kvHeads; h++) {
      const from = (prompt * kvHeads + h) * padded * hd;
      const to = (row * kvHeads + h) * this.capacity * hd;
      this.keys[layer]!.set(keys.subarray(from, from + length * hd), to);
      this.values[layer]!.set(values.subarray(from, from + length * hd), to);
    }
    if (layer > 0) return;
    this.lengths[row] = length;
    this.mask.fill(0, row * this.capacity, row * this.capacity + length);
  }

  /** Keeps the rows named, ascending, and cuts the batch down to `target` rows: a padded count, so that few shapes occur. */
  keep(survivors: readonly number[], target: number): void {
    survivors.forEach((from, to) => {
      if (from === to) return;
      for (const cache of [...this.keys, ...this.values]) {
        cache.copyWithin(to * this.rowSize, from * this.rowSize, (from + 1) * this.rowSize);
      }
      this.mask.copyWithin(to * this.capacity, from * this.capacity, (from + 1) * this.capacity);
      this.lengths[to] = this.lengths[from]!;
    });
    const rows = Math.min(target, this.rows);
    if (rows === this.rows) return;
    this.rows = rows;
    this.forgetTensors();
  }

  /** Makes sure that each of the first `active` rows has a free slot; grows by `step` slots. */
  makeRoom(active: number, step: number): void {
    let longest = 0;
    for (let r = 0; r < active; r++) longest = Math.max(longest, this.lengths[r]!);
    if (longest < this.capacity) return;
    const { num_key_value_heads: kvHeads, head_dim: hd } = this.config;
    const before = this.capacity;
    this.capacity = Math.ceil((longest + step) / step) * step;
    const widen = (cache: Float32Array, width: number, lines: number, fill: number) => {
      const wide = new Float32Array(lines * this.capacity * width).fill(fill);
      for (let line = 0; line < lines; line++) {
        wide.set(cache.subarray(line * before * width, (line + 1) * before * width), line * this.capacity * width);
      }
      return wide;
    };
    this.keys = this.keys.map((cache) => widen(cache, hd, this.rows * kvHeads, 0));
    this.values = this.values.map((cache) => widen(cache, hd, this.rows * kvHeads, 0));
    this.mask = widen(this.mask, 1, this.rows, HIDDEN);
    this.forgetTensors();
  }

  /** The cache and mask as inputs of the decode graph. */
  inputs(): Record<string, Tensor> {
    if (this.inputTensors === undefined) {
      const { num_key_value_heads: kvHeads, head_dim: hd } = this.config;
      const shape = [this.rows, kvHeads, this.capacity, hd];
      const tensors: Record<string, Tensor> = {
        mask: floats(this.mask.subarray(0, this.rows * this.capacity), [this.rows, 1, 1, this.capacity]),
      };
      for (const l of this.layers()) {
        tensors[`k${l}`] = floats(this.keys[l]!.subarray(0, this.rows * this.rowSize), shape);
        tensors[`v${l}`] = floats(this.values[l]!.subarray(0, this.rows * this.rowSize), shape);
      }
      this.inputTensors = tensors;
    }
    return this.inputTensors;
  }

  /** Where the decode graph writes the new keys and values. */
  outputs(): Record<string, Tensor> {
    if (this.outputTensors === undefined) {
      const width = this.width;
      this.newKeys = this.layers().map(() => new Float32Array(this.rows * width));
      this.newValues = this.layers().map(() => new Float32Array(this.rows * width));
      const tensors: Record<string, Tensor> = {};
      for (const l of this.layers()) {
        tensors[`newK${l}`] = floats(this.newKeys[l]!, [this.rows, width]);
        tensors[`newV${l}`] = floats(this.newValues[l]!, [this.rows, width]);
      }
      this.outputTensors = tensors;
    }
    return this.outputTensors;
  }

  /** Writes a layer's new keys and values into the next slot of the first `active` rows. */
  append(layer: number, active: number): void {
    const { num_key_value_heads: kvHeads, head_dim: hd } = this.config;
    const keys = this.keys[layer]!;
    const values = this.values[layer]!;
    const newKeys = this.newKeys[layer]!;
    const newValues = this.newValues[layer]!;
    for (let r = 0; r < active; r++) {
      for (let h = 0; h < kvHeads; h++) {
        const to = ((r * kvHeads + h) * this.capacity + this.lengths[r]!) * hd;
        const from = (r * kvHeads + h) * hd;
        for (let i = 0; i < hd; i++) {
          keys[to + i] = newKeys[from + i]!;
          values[to + i] = newValues[from + i]!;
        }
      }
    }
  }

  /** After every layer was appended: the slot becomes visible. */
  advance(active: number): void {
    for (let r = 0; r < active; r++) {
      this.mask[r * this.capacity + this.lengths[r]!] = 0;
      this.lengths[r] = this.lengths[r]! + 1;
    }
  }

  private get width(): number {
    return this.config.num_key_value_heads * this.config.head_dim;
  }

  private get rowSize(): number {
    return this.width * this.capacity;
  }

  private layers(): number[] {
    return Array.from({ length: this.config.num_hidden_layers }, (_, l) => l);
  }

  private forgetTensors(): void {
    this.inputTensors = undefined;
    this.outputTensors = undefined;
  }
}
