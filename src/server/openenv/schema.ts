/**
 * What a client of the OpenEnv server sends and gets, as schemas: reset options, actions, observations, state. The JSON schemas of
 * GET /schema are made from these. Unknown keys are refused: a misspelt option would silently play another board.
 */
import { z } from "zod";
import { ACTIONS, BENCHMARKS } from "../../environments/mapf-frozenlake/index.js";

/** What OpenEnv itself may put beside an environment's own options. */
const protocolFields = {
  episode_id: z.string().max(255).nullish(),
  timeout_s: z.number().positive().nullish(),
  request_id: z.string().max(255).nullish(),
};

export const resetSchema = z.strictObject({
  ...protocolFields,
  seed: z.int().nonnegative().nullish().describe("Which board; without it a fresh one, whose seed the observation tells."),
  config: z.record(z.string(), z.unknown()).nullish().describe("The generator's config, as for `envwright generate`."),
  agents: z.int().min(1).max(8).nullish().describe("Number of agents on generated boards, in place of the config's."),
  set: z.enum(BENCHMARKS).nullish().describe("A frozen benchmark set to take the board from, in place of generating one."),
  index: z.int().nonnegative().nullish().describe("Which board of the set; without it, the seed picks one."),
  instance: z.record(z.string(), z.unknown()).nullish().describe("A board of the client's own, as in instance files."),
  rendering: z.enum(["chat", "compact"]).default("chat").describe("chat: text for language models. compact: a closed vocabulary."),
  form: z
    .enum(["answer", "moves"])
    .default("answer")
    .describe("answer: one message holds the whole plan. moves: one joint move in every step."),
  max_steps: z.int().min(1).nullish().describe("Joint moves until the episode ends, for the moves form; the rules' step limit if absent."),
});
export type ResetOptions = z.infer<typeof resetSchema>;

export const actionSchema = z
  .strictObject({
    message: z
      .string()
      .optional()
      .describe("What the policy wrote: a whole answer, or in the moves form one joint move such as LEFT, WAIT."),
    moves: z.array(z.enum(ACTIONS)).min(1).max(8).optional().describe("One joint move, one action per agent, in place of `message`."),
    finish_reason: z.enum(["stop", "length"]).default("stop").describe("length: the answer was cut off by the policy's length limit."),
    metadata: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ message, moves }) => (message === undefined) !== (moves === undefined), "give either message or moves");
export type Action = z.infer<typeof actionSchema>;

/** POST /step: HTTP keeps no episode, so the board is named by the reset that would make it. */
export const stepRequestSchema = z.strictObject({
  action: actionSchema,
  reset: resetSchema,
  timeout_s: z.number().positive().nullish(),
  request_id: z.string().max(255).nullish(),
});

const cell = z.tuple([z.int(), z.int()]);

/** Every observation has every key; what does not apply yet is null. It never tells the optimum before the episode is over. */
export const observationSchema = z.strictObject({
  prompt: z.string().describe("What to show to the policy next."),
  board: z.strictObject({ size: z.int(), holes: z.array(cell), agents: z.array(z.strictObject({ start: cell, goal: cell })) }),
  positions: z.array(cell).describe("Where the agents are, [row, column] from 0."),
  step: z.int().describe("Joint moves made so far."),
  code: z.string().nullable().describe("Once over: valid, or the code of the first broken rule."),
  reason: z.string().nullable(),
  valid: z.boolean().nullable(),
  optimal: z.boolean().nullable(),
  cost: z.number().nullable().describe("Cost of a valid plan under the objective."),
  optimum: z.number().nullable().describe("The certified optimum, told once the episode is over."),
  metadata: z.record(z.string(), z.unknown()),
});
export type Observation = z.infer<typeof observationSchema>;

export const stateSchema = z.strictObject({
  episode_id: z.string().nullable(),
  step_count: z.int(),
  done: z.boolean(),
  instance: z.string().nullable().describe("Id of the board."),
  seed: z.int().nullable(),
  form: z.enum(["answer", "moves"]).nullable(),
});
export type EpisodeState = z.infer<typeof stateSchema>;

export interface StepResult {
  observation: Observation;
  /** null until the episode is over. */
  reward: number | null;
  done: boolean;
  metadata: Record<string, unknown>;
}

/**
 * The action's JSON schema as it is advertised: `message` is required, so that harnesses which send a policy's raw text know where it goes.
 * `moves` in its place is accepted all the same.
 */
export function actionJsonSchema(): Record<string, unknown> {
  return { ...jsonSchemaOf(actionSchema), title: "MapfFrozenLakeAction", required: ["message"] };
}

export function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: "input" }) as Record<string, unknown>;
}
