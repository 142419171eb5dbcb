/**
 * The instance record of MAPF-FrozenLake as it stands in files: a board, its agents, and what is certified about it.
 * Positions are [row, column] from 0. The schema checks what one record alone can show (bounds, distinct starts and goals, no start or
 * goal on a hole); whether the recorded optimum is right is the solver's to say.
 */
import { z } from "zod";

export const MIN_SIZE = 2;
export const MAX_SIZE = 10;
/** Seven bits an agent and eight agents are the limits of the solver's state encoding. */
export const MAX_AGENTS = 8;

export const cellSchema = z.tuple([z.int().nonnegative(), z.int().nonnegative()]);
export type Cell = z.infer<typeof cellSchema>;

export const agentSchema = z.strictObject({ start: cellSchema, goal: cellSchema });
export type Agent = z.infer<typeof agentSchema>;

/** The bare problem: what the rules need and nothing that is computed. */
export interface Board {
  size: number;
  holes: Cell[];
  agents: Agent[];
}

export const optimumSchema = z.strictObject({
  sum_of_costs: z.int().nonnegative(),
  makespan: z.int().nonnegative(),
  /** SIC: the sum of the agents' individual shortest distances. */
  sum_of_shortest: z.int().nonnegative(),
});
export type Optimum = z.infer<typeof optimumSchema>;

const boardShape = {
  size: z.int().min(MIN_SIZE).max(MAX_SIZE),
  holes: z.array(cellSchema),
  agents: z.array(agentSchema).min(1).max(MAX_AGENTS),
};

function checkBoard(board: Board, report: (message: string, path: (string | number)[]) => void): void {
  const inside = ([row, column]: Cell) => row < board.size && column < board.size;
  const key = ([row, column]: Cell) => row * board.size + column;
  const holes = new Set<number>();
  board.holes.forEach((hole, i) => {
    if (!inside(hole)) report(`hole [${hole}] lies outside the ${board.size}x${board.size} grid`, ["holes", i]);
    if (holes.has(key(hole))) report(`hole [${hole}] is given twice`, ["holes", i]);
    holes.add(key(hole));
  });
  for (const end of ["start", "goal"] as const) {
    const seen = new Map<number, number>();
    board.agents.forEach((agent, i) => {
      const cell = agent[end];
      if (!inside(cell)) {
        report(`${end} [${cell}] of agent ${i} lies outside the grid`, ["agents", i, end]);
        return;
      }
      if (holes.has(key(cell))) report(`${end} [${cell}] of agent ${i} is a hole`, ["agents", i, end]);
      const other = seen.get(key(cell));
      if (other !== undefined) report(`agents ${other} and ${i} share the ${end} [${cell}]`, ["agents", i, end]);
      seen.set(key(cell), i);
    });
  }
}

/** A board from outside. Start equal to goal is legal input (cost 0); the generator never makes it. */
export const boardSchema = z.object(boardShape).superRefine((board, context) => {
  checkBoard(board, (message, path) => context.addIssue({ code: "custom", message, path }));
});

/** A complete instance: everything that files from elsewhere may leave out has been computed. */
export const instanceSchema = z
  .strictObject({
    id: z.string().min(1),
    ...boardShape,
    optimum: optimumSchema,
    /** SOC > SIC. */
    conflict: z.boolean(),
    /** Every plan of optimal sum of costs has a WAIT before that agent's own final arrival. */
    wait_required: z.boolean(),
    seed: z.string(),
    /** Canonical hash: equal for boards that are equal under the 8 symmetries and agent order. */
    hash: z.string(),
  })
  .superRefine((instance, context) => {
    checkBoard(instance, (message, path) => context.addIssue({ code: "custom", message, path }));
  });
export type Instance = z.infer<typeof instanceSchema>;
