/**
 * A group of permutations of up to eight things, grown from generators; all its elements are listed, at most 8! = 40,320. A permutation is
 * packed in 24 bits, three for each image: the image of i stands at bit 3·i. One group at a time.
 */
import { byteAt, setByte, setWord, wordAt } from "./bytes";
import { takeSpace } from "./space";

const MOST_ELEMENTS: i32 = 40_320;
/** A generator that is new doubles the group at least. */
const MOST_GENERATORS: i32 = 16;

const ELEMENTS = memory.data(MOST_ELEMENTS * 4, 16);
const GENERATORS = memory.data(MOST_GENERATORS * 4, 16);
/** A bit for every packed number: whether it is an element. */
const known = takeSpace(1 << 21);
let degree: i32 = 0;
let order: i32 = 0;
let fullOrder: i32 = 0;
let generators: i32 = 0;

/** Begins the group of the identity alone. */
export function beginGroup(things: i32): void {
  for (let e = 0; e < order; e++) setByte(known + (element(e) >> 3), 0);
  degree = things;
  order = 0;
  generators = 0;
  fullOrder = 1;
  for (let i = 2; i <= things; i++) fullOrder *= i;
  add(identity(things));
}

/** How many elements it has. */
export function groupOrder(): i32 {
  return order;
}

export function element(e: i32): i32 {
  return wordAt(ELEMENTS + (e << 2));
}

export function isInGroup(permutation: i32): bool {
  return ((byteAt(known + (permutation >> 3)) >> (permutation & 7)) & 1) !== 0;
}

/** Whether every permutation is in it. */
export function isGroupFull(): bool {
  return order === fullOrder;
}

/** The group so far is a subgroup of the new one, which is listed coset by coset (Dimino's algorithm; Butler, LNCS 559, 1991). */
export function addGenerator(generator: i32): void {
  if (isInGroup(generator)) return;
  setWord(GENERATORS + (generators++ << 2), generator);
  const before = order;
  addCoset(generator, before);
  for (let coset = before; coset < order; coset += before) {
    for (let g = 0; g < generators; g++) {
      const product = compose(element(coset), wordAt(GENERATORS + (g << 2)));
      if (!isInGroup(product)) addCoset(product, before);
    }
  }
}

/** The first `count` elements, each after this one. */
function addCoset(permutation: i32, count: i32): void {
  for (let e = 0; e < count; e++) add(compose(element(e), permutation));
}

function add(permutation: i32): void {
  setWord(ELEMENTS + (order++ << 2), permutation);
  const at = known + (permutation >> 3);
  setByte(at, byteAt(at) | (1 << (permutation & 7)));
}

export function identity(things: i32): i32 {
  return 0o76543210 & ((1 << (3 * things)) - 1);
}

export function image(permutation: i32, i: i32): i32 {
  return (permutation >> (3 * i)) & 7;
}

/** First `after`, then `first`: i → first(after(i)). */
function compose(first: i32, after: i32): i32 {
  let product = 0;
  for (let i = 0; i < degree; i++) product |= image(first, image(after, i)) << (3 * i);
  return product;
}

/** The permutation that takes from(i) to to(i) for every i. */
export function taking(from: i32, to: i32, things: i32): i32 {
  let packed = 0;
  for (let i = 0; i < things; i++) packed |= image(to, i) << (3 * image(from, i));
  return packed;
}
