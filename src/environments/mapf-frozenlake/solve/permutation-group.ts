/**
 * A group of permutations of up to 8 things, grown from generators; all its elements are listed, at most 8! = 40,320. A permutation is
 * packed in 24 bits, three for each image: the image of i stands at bit 3·i.
 */
export class PermutationGroup {
  private elements = new Set<number>();
  private readonly generators: number[] = [];
  private readonly fullOrder: number;

  constructor(private readonly degree: number) {
    this.elements.add(identity(degree));
    this.fullOrder = Array.from({ length: degree }, (_, i) => i + 1).reduce((product, i) => product * i, 1);
  }

  has(permutation: number): boolean {
    return this.elements.has(permutation);
  }

  /** Whether every permutation is in it. */
  get isFull(): boolean {
    return this.elements.size === this.fullOrder;
  }

  addGenerator(generator: number): void {
    if (this.elements.has(generator)) return;
    this.generators.push(generator);
    const list = [identity(this.degree)];
    const elements = new Set(list);
    for (const element of list) {
      for (const factor of this.generators) {
        const product = compose(element, factor, this.degree);
        if (elements.has(product)) continue;
        elements.add(product);
        list.push(product);
      }
    }
    this.elements = elements;
  }
}

export function identity(degree: number): number {
  let packed = 0;
  for (let i = 0; i < degree; i++) packed |= i << (3 * i);
  return packed;
}

export function image(permutation: number, i: number): number {
  return (permutation >> (3 * i)) & 7;
}

/** First `after`, then `first`: i → first(after(i)). */
function compose(first: number, after: number, degree: number): number {
  let packed = 0;
  for (let i = 0; i < degree; i++) packed |= image(first, image(after, i)) << (3 * i);
  return packed;
}

/** The permutation that takes from(i) to to(i) for every i. */
export function taking(from: number, to: number, degree: number): number {
  let packed = 0;
  for (let i = 0; i < degree; i++) packed |= image(to, i) << (3 * image(from, i));
  return packed;
}
