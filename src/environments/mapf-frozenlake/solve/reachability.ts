/**
 * Whether the agents can reach their goals at all, decided exactly, without a search over labelled positions.
 *
 * Agents without names can go from any set of cells of a connected piece to any other. So name the agents by their places in one base set;
 * the loops through the space of sets (its spanning tree, closed by one more edge) generate the group of those renamings that can be
 * brought about (Schreier's lemma; compare Kornhauser, Miller and Spirakis, FOCS 1984). A board is solvable when, in every piece, the
 * renaming from starts to goals lies in the group. Any joint step is a sequence of single moves into empty cells and of rotations of whole
 * cycles without an empty cell, so these are the edges. As soon as the group is that of all renamings nothing more has to be looked at.
 *
 * On small boards what is found is kept per (piece, agents): there unsolvable boards are so common that deciding them dominates.
 */
import { MAX_AGENTS } from "../instance.js";
import { CellSets } from "./cell-sets.js";
import { OFF_GRID, type PackedBoard, STRIDE, UNREACHABLE } from "./packed-board.js";
import { identity, image, PermutationGroup, taking } from "./permutation-group.js";

/** Pieces with more sets of cells than this are left undecided. */
const MOST_SETS = 100_000;
/** Boards up to this size have their pieces kept; 16 cells are bits of a small integer. */
const KEPT_SIZE = 4;
const MOST_KEPT = 20_000;
const MOST_KEPT_SETS = 3_000;

/** What is known of a piece with a number of agents. */
interface Renamings {
  group: PermutationGroup;
  /** Which base place the agent at the r-th cell of a set comes from, packed; undefined for a set that was not reached. */
  origins(sortedCells: Int32Array): number | undefined;
  /** False when the exploration was given up. */
  isWhole: boolean;
  /** Sets that were looked at. */
  nodes: number;
  /** Whether it may outlive the board. */
  isKeepable: boolean;
}

const NONE = new Uint8Array();
const NO_BOARD: PackedBoard = { size: 0, count: 0, neighbours: NONE, holes: NONE, starts: NONE, goals: NONE, distances: NONE };

export class Reachability {
  private readonly sets = new CellSets();
  private readonly kept = new Map<number, Renamings>();
  private readonly inPiece = new Uint8Array(STRIDE);
  private readonly members = new Int32Array(MAX_AGENTS);
  private readonly sorted = new Int32Array(MAX_AGENTS);
  private readonly cells = new Int32Array(MAX_AGENTS);
  private readonly present = new Int32Array(MAX_AGENTS);
  /** Cells of the set at hand. */
  private readonly occupied = new Uint8Array(STRIDE);
  private agents = 0;

  private board: PackedBoard = NO_BOARD;

  /** @param spend counts so many nodes, and throws where the budget ends */
  constructor(private readonly spend: (nodes: number) => void) {}

  /** Small boards, whose pieces are kept. */
  private get isCheap(): boolean {
    return this.board.size <= KEPT_SIZE;
  }

  /** Undefined: too large to decide this way. @throws {BudgetExhausted} */
  isSolvable(board: PackedBoard): boolean | undefined {
    this.board = board;
    const { members } = this;
    let seen = 0;
    let answer: boolean | undefined = true;
    for (let first = 0; first < board.count; first++) {
      if ((seen >> first) & 1) continue;
      let size = 0;
      for (let agent = first; agent < board.count; agent++) {
        if (board.distances[first * STRIDE + board.goals[agent]!]! >= UNREACHABLE) continue;
        seen |= 1 << agent;
        members[size++] = agent;
      }
      if (size === 1) continue;
      const piece = size === 2 ? this.canPass() : this.isPieceSolvable(size);
      if (piece === false) return false;
      if (piece === undefined) answer = undefined;
    }
    return answer;
  }

  private isPieceSolvable(size: number): boolean | undefined {
    const { board } = this;
    this.agents = size;
    let key = size;
    const table = this.members[0]! * STRIDE;
    for (let cell = 0; cell < board.size ** 2; cell++) {
      this.inPiece[cell] = board.distances[table + cell]! < UNREACHABLE ? 1 : 0;
      if (this.inPiece[cell] === 1 && this.isCheap) key |= 16 << cell;
    }
    key += 2 ** 21 * board.size;
    const known = this.isCheap ? this.kept.get(key) : undefined;
    const renamings = known ?? this.explore();
    // Kept or not: a board costs the same whatever boards came before it.
    this.spend(renamings.nodes);
    if (known === undefined && this.isCheap && renamings.isKeepable) {
      if (this.kept.size >= MOST_KEPT) this.kept.clear();
      this.kept.set(key, renamings);
    }
    if (renamings.group.isFull) return true;
    const before = renamings.origins(this.sortByCell(board.starts));
    const startOf = this.membersByOrigin(before, board.starts);
    const after = renamings.origins(this.sortByCell(board.goals));
    const goalOf = this.membersByOrigin(after, board.goals);
    if (startOf === undefined || goalOf === undefined) return undefined;
    // Both: base place → member. The renaming takes a place to the one where the member that ends there began.
    let renaming = 0;
    for (let place = 0; place < size; place++) {
      for (let other = 0; other < size; other++) if (image(startOf, other) === image(goalOf, place)) renaming |= other << (3 * place);
    }
    if (renamings.group.has(renaming)) return true;
    return renamings.isWhole ? false : undefined;
  }

  /** Two agents change places wherever three ways meet, and on a cycle need not; on a path they keep their order. */
  private canPass(): boolean {
    const { board, members } = this;
    const table = members[0]! * STRIDE;
    this.spend(1);
    let end = -1;
    for (let cell = 0; cell < board.size ** 2; cell++) {
      if (board.distances[table + cell]! >= UNREACHABLE) continue;
      let ways = 0;
      for (let direction = cell * 4; direction < cell * 4 + 4; direction++) {
        if (isFree(board, board.neighbours[direction]!)) ways++;
      }
      if (ways > 2) return true;
      if (ways === 1) end = cell;
    }
    if (end < 0) return true;
    const first = members[0]!;
    const second = members[1]!;
    let order = 0;
    for (let cell = end, from = -1; cell >= 0; ) {
      // Bits 0 and 1: whose start came first; bits 2 and 3: whose goal.
      if (cell === board.starts[second] && (order & 1) === 0) order |= 2;
      if (cell === board.starts[first] && (order & 2) === 0) order |= 1;
      if (cell === board.goals[second] && (order & 4) === 0) order |= 8;
      if (cell === board.goals[first] && (order & 8) === 0) order |= 4;
      let next = -1;
      for (let direction = cell * 4; direction < cell * 4 + 4; direction++) {
        const beside = board.neighbours[direction]!;
        if (beside !== from && isFree(board, beside)) next = beside;
      }
      from = cell;
      cell = next;
    }
    return (order & 1) === ((order >> 2) & 1);
  }

  private sortByCell(ends: Uint8Array): Int32Array {
    const { sorted, members } = this;
    for (let a = 0; a < this.agents; a++) {
      const cell = ends[members[a]!]!;
      let at = a;
      for (; at > 0 && sorted[at - 1]! > cell; at--) sorted[at] = sorted[at - 1]!;
      sorted[at] = cell;
    }
    return sorted;
  }

  private membersByOrigin(origins: number | undefined, ends: Uint8Array): number | undefined {
    if (origins === undefined) return undefined;
    let byOrigin = 0;
    for (let r = 0; r < this.agents; r++) {
      for (let a = 0; a < this.agents; a++) {
        if (ends[this.members[a]!] === this.sorted[r]) byOrigin |= a << (3 * image(origins, r));
      }
    }
    return byOrigin;
  }

  /** Walks the sets of cells breadth first from a base set until all renamings are found or no set is left. */
  private explore(): Renamings {
    const { board, sets, cells, present, occupied, agents } = this;
    const group = new PermutationGroup(agents);
    sets.reset();
    let expanded = 0;
    let size = 0;
    for (let cell = 0; cell < board.size ** 2 && size < agents; cell++) if (this.inPiece[cell] === 1) cells[size++] = cell;
    sets.add(cells, agents, identity(agents));
    for (let node = 0; node < sets.count && sets.count <= MOST_SETS; node++) {
      expanded++;
      const origins = sets.number(node);
      for (let r = 0; r < agents; r++) {
        present[r] = sets.cell(node, r);
        occupied[present[r]!] = 1;
      }
      for (let r = 0; r < agents; r++) {
        const cell = present[r]!;
        for (let direction = cell * 4; direction < cell * 4 + 4; direction++) {
          const beside = board.neighbours[direction]!;
          if (beside === OFF_GRID || this.inPiece[beside] === 0 || occupied[beside] === 1) continue;
          for (let b = 0; b < agents; b++) cells[b] = present[b]!;
          this.step(origins, r, beside, group);
        }
      }
      if (this.mayHaveCycle()) this.rotate(origins, group);
      for (let r = 0; r < agents; r++) occupied[present[r]!] = 0;
      if (group.isFull) return { group, origins: () => undefined, isWhole: false, isKeepable: true, nodes: expanded };
    }
    const isWhole = sets.count <= MOST_SETS;
    if (!this.isCheap || sets.count > MOST_KEPT_SETS) {
      const origins = (sorted: Int32Array) => {
        const node = sets.find(sorted, agents);
        return node < 0 ? undefined : sets.number(node);
      };
      return { group, origins, isWhole, isKeepable: false, nodes: expanded };
    }
    const bySet = new Map<number, number>();
    for (let node = 0; node < sets.count; node++) {
      for (let r = 0; r < agents; r++) cells[r] = sets.cell(node, r);
      bySet.set(bits(cells, agents), sets.number(node));
    }
    return { group, origins: (sorted) => bySet.get(bits(sorted, agents)), isWhole, isKeepable: isWhole, nodes: expanded };
  }

  /** A cycle of four is a square; larger ones need six agents. */
  private mayHaveCycle(): boolean {
    const { board, present, occupied, agents } = this;
    if (agents >= 6) return true;
    for (let r = 0; r < agents; r++) {
      const below = board.neighbours[present[r]! * 4 + 1]!;
      const beside = board.neighbours[present[r]! * 4 + 3]!;
      if (occupied[below] === 1 && occupied[beside] === 1 && occupied[below + 1] === 1) return true;
    }
    return false;
  }

  /** Moves the agent at the r-th cell to `to`: a new set, or a loop. Leaves `cells` changed. */
  private step(origins: number, r: number, to: number, group: PermutationGroup): void {
    const { cells, agents, sets } = this;
    const mover = image(origins, r);
    let moved = origins & ((1 << (3 * r)) - 1);
    let at = r;
    if (to > cells[r]!) {
      for (; at + 1 < agents && cells[at + 1]! < to; at++) {
        cells[at] = cells[at + 1]!;
        moved |= image(origins, at + 1) << (3 * at);
      }
      for (let b = at + 1; b < agents; b++) moved |= image(origins, b) << (3 * b);
    } else {
      for (; at > 0 && cells[at - 1]! > to; at--) cells[at] = cells[at - 1]!;
      moved = 0;
      for (let b = 0; b < agents; b++) if (b !== at) moved |= image(origins, b > at && b <= r ? b - 1 : b) << (3 * b);
    }
    cells[at] = to;
    moved |= mover << (3 * at);
    const known = sets.find(cells, agents);
    if (known < 0) sets.add(cells, agents, moved);
    else if (sets.number(known) !== moved) group.addGenerator(taking(sets.number(known), moved, agents));
  }

  /** Rotates every cycle of occupied cells by one: the set stays, the agents on the cycle are renamed. */
  private rotate(origins: number, group: PermutationGroup): void {
    const { agents } = this;
    const cycle: number[] = [];
    const walk = (r: number, first: number): void => {
      cycle.push(r);
      for (let next = first; next < agents; next++) {
        if (!this.areBeside(r, next)) continue;
        if (next === first && cycle.length >= 4) {
          let rotated = origins;
          cycle.forEach((place, i) => {
            const from = cycle[(i + cycle.length - 1) % cycle.length]!;
            rotated = (rotated & ~(7 << (3 * place))) | (image(origins, from) << (3 * place));
          });
          group.addGenerator(taking(origins, rotated, agents));
        } else if (!cycle.includes(next)) walk(next, first);
      }
      cycle.pop();
    };
    for (let first = 0; first < agents; first++) walk(first, first);
  }

  private areBeside(r: number, other: number): boolean {
    const { neighbours } = this.board;
    const cell = this.present[r]! * 4;
    const beside = this.present[other]!;
    return (
      neighbours[cell] === beside || neighbours[cell + 1] === beside || neighbours[cell + 2] === beside || neighbours[cell + 3] === beside
    );
  }
}

function bits(cells: Int32Array, count: number): number {
  let set = 0;
  for (let r = 0; r < count; r++) set |= 1 << cells[r]!;
  return set;
}

function isFree(board: PackedBoard, cell: number): boolean {
  return board.holes[cell] === 0;
}
