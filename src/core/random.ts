/**
 * Named, counter-based randomness (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 *
 * A seed is derived by name, `seed("run-7").child("stage", 3).child("train")`, and item `i` of a stream is `seed.at(i)`: what is
 * drawn depends on the name and the index alone, never on how many were drawn before, by whom, or by how many workers.
 */
import { createHash } from "node:crypto";

const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;
const W0 = 0x9e3779b9;
const W1 = 0xbb67ae85;

/** A named point in the tree of seeds. Immutable. */
export class Seed {
  private constructor(
    readonly path: string,
    private readonly key0: number,
    private readonly key1: number,
    private readonly counter2: number,
  ) {}

  static root(name: string | number): Seed {
    return Seed.fromPath(String(name));
  }

  private static fromPath(path: string): Seed {
    const digest = createHash("sha256").update(path).digest();
    return new Seed(path, digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8));
  }

  /** Rebuilds a seed from its path, e.g. in a worker. */
  static parse(path: string): Seed {
    return Seed.fromPath(path);
  }

  /** The seed of a purpose below this one. Costs a SHA-256: derive outside of inner loops and use `at` inside. */
  child(...names: (string | number)[]): Seed {
    return Seed.fromPath([this.path, ...names.map((n) => encodeURIComponent(String(n)))].join("/"));
  }

  /** The random stream of item `index` (0 ≤ index < 2^32). */
  at(index: number): Random {
    return new Random(this.key0, this.key1, this.counter2, index >>> 0);
  }

  toString(): string {
    return this.path;
  }
}

/** One stream of random numbers. Cheap to create; holds four words at a time. */
export class Random {
  private block = 0;
  private left = 0;
  private readonly words = new Uint32Array(4);

  constructor(
    private readonly key0: number,
    private readonly key1: number,
    private readonly counter2: number,
    private readonly index: number,
  ) {}

  /** A uniform integer in [0, 2^32). */
  uint32(): number {
    if (this.left === 0) this.refill();
    return this.words[--this.left]!;
  }

  /** A uniform real in [0, 1) with 53 random bits. */
  float(): number {
    const high = this.uint32() >>> 5;
    const low = this.uint32() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  /** A uniform integer in [0, n), unbiased (rejection), for 1 ≤ n ≤ 2^32. */
  below(n: number): number {
    const limit = 4294967296 - (4294967296 % n);
    let word = this.uint32();
    while (word >= limit) word = this.uint32();
    return word % n;
  }

  /** A uniform integer in [low, high]. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** A standard normal deviate (Box–Muller). */
  normal(): number {
    const u = 1 - this.float();
    return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * this.float());
  }

  /** Shuffles in place (Fisher–Yates) and returns the array. */
  shuffle<A extends unknown[]>(items: A): A {
    this.shufflePart(items.length - 1, 0, (i, j) => {
      const held = items[i];
      items[i] = items[j];
      items[j] = held;
    });
    return items;
  }

  /** The exchanges of a shuffle that settle the positions from `last` down to the one after `first`, for what is not an array. */
  shufflePart(last: number, first: number, exchange: (i: number, j: number) => void): void {
    for (let i = last; i > first; i--) exchange(i, this.below(i + 1));
  }

  private refill(): void {
    let c0 = this.index;
    let c1 = this.block++ >>> 0;
    let c2 = this.counter2;
    let c3 = 0;
    let k0 = this.key0;
    let k1 = this.key1;
    for (let round = 0; round < 10; round++) {
      const high0 = mulHigh(M0, c0);
      const low0 = Math.imul(M0, c0) >>> 0;
      const high1 = mulHigh(M1, c2);
      const low1 = Math.imul(M1, c2) >>> 0;
      c0 = (high1 ^ c1 ^ k0) >>> 0;
      c1 = low1;
      c2 = (high0 ^ c3 ^ k1) >>> 0;
      c3 = low0;
      k0 = (k0 + W0) >>> 0;
      k1 = (k1 + W1) >>> 0;
    }
    // Handed out from the end, so store in reverse.
    this.words[3] = c0;
    this.words[2] = c1;
    this.words[1] = c2;
    this.words[0] = c3;
    this.left = 4;
  }
}

/** The high 32 bits of the 64-bit product of two unsigned 32-bit integers. */
function mulHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const middle2 = aLow * bHigh + (middle % 65536);
  return aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(middle2 / 65536);
}
