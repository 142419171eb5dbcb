/**
 * A group of permutations of up to 8 things, grown from generators; all its elements are listed, at most 8! = 40,320. A permutation is
 * packed in 24 bits, three for each image: the image of i stands at bit 3·i.
 */
export class PermutationGroup {
  private readonly elements: number[];
  private readonly known: Set<number>;
  private readonly generators: number[] = [];
  private readonly fullOrder: number;

  constructor(private readonly degree: number) {
    this.elements = [identity(degree)];
    this.known = new Set(this.elements);
    this.fullOrder = Array.from({ length: degree }, (_, i) => i + 1).reduce((product, i) => product * i, 1);
  }

  has(permutation: number): boolean {
    return this.known.has(permutation);
  }

  /** Whether every permutation is in it. */
  get isFull(): boolean {
    return this.elements.length === this.fullOrder;
  }

  /** The group so far is a subgroup of the new one, which is listed coset by coset (Dimino's algorithm; Butler, LNCS 559, 1991). */
  addGenerator(generator: number): void {
    const { elements, generators, known } = this;
    if (known.has(generator)) return;
    generators.push(generator);
    const order = elements.length;
    this.addCoset(generator, order);
    for (let coset = order; coset < elements.length; coset += order) {
      for (const factor of generators) {
        const element = compose(elements[coset]!, factor, this.degree);
        if (!known.has(element)) this.addCoset(element, order);
      }
    }
  }

  /** The first `order` elements, each after this one. */
  private addCoset(element: number, order: number): void {
    for (let e = 0; e < order; e++) {
      const product = compose(this.elements[e]!, element, this.degree);
      this.elements.push(product);
      this.known.add(product);
    }
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
