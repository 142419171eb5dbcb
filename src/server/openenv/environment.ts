/** The environment of one session: the options of a reset → an episode, and its steps. Data from outside is validated here. */
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { EngineError } from "../../core/index.js";
import type { Boards } from "./boards.js";
import { Episode } from "./episode.js";
import { actionSchema, type EpisodeState, resetSchema, type StepResult } from "./schema.js";

/** Data that does not satisfy its schema. */
export class InvalidDataError extends Error {
  constructor(
    message: string,
    readonly issues: { path: string; message: string }[],
  ) {
    super(message);
  }
}

export interface Environment {
  reset(data: unknown): Promise<StepResult>;
  step(data: unknown): StepResult;
  state(): EpisodeState;
}

export class LakeEnvironment implements Environment {
  private episode: Episode | undefined;

  constructor(private readonly boards: Boards) {}

  /** @throws {InvalidDataError} @throws {InputError} @throws {EngineError} when no board was found */
  async reset(data: unknown): Promise<StepResult> {
    const options = validated(resetSchema, data);
    const board = await this.boards.find(options);
    this.episode = new Episode(options.episode_id ?? randomUUID(), board, options);
    return this.episode.begin();
  }

  /** @throws {InvalidDataError} @throws {InputError} @throws {EngineError} without an episode that goes on */
  step(data: unknown): StepResult {
    const action = validated(actionSchema, data);
    if (this.episode === undefined) throw new EngineError({ message: "there is no episode yet; reset starts one" });
    return this.episode.step(action);
  }

  state(): EpisodeState {
    return this.episode?.state() ?? { episode_id: null, step_count: 0, done: false, instance: null, seed: null, form: null };
  }
}

/** @throws {InvalidDataError} naming every issue */
export function validated<T>(schema: z.ZodType<T>, data: unknown): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const [first] = issues;
  throw new InvalidDataError(first!.path === "" ? first!.message : `${first!.path}: ${first!.message}`, issues);
}
