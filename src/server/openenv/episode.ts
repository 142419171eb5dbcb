/**
 * One episode of MAPF-FrozenLake: a board, and what was done on it. A whole answer ends it in one step; joint moves are judged as they come
 * and end it when a rule is broken, every agent stands on its goal, or the steps run out. Both are judged by the family's verifier; the
 * reward is the accuracy term of the loop's reward (1: optimal, less for a longer plan, 0: not valid), as the length of an answer in the
 * policy's tokens is not known here.
 */
import { EngineError, InputError, type Verdict } from "../../core/index.js";
import {
  ACTIONS,
  type Cell,
  COLUMN_STEP,
  type Instance,
  mapfFrozenLake as lake,
  type Action as Move,
  type NoPlan,
  ROW_STEP,
  renderPlan,
} from "../../environments/mapf-frozenlake/index.js";
import { accuracyTerm } from "../../rewards/index.js";
import type { FoundBoard } from "./boards.js";
import { firstPrompt, nextPrompt, readMoves, stepsAllowed } from "./joint-moves.js";
import type { Action, EpisodeState, Observation, ResetOptions, StepResult } from "./schema.js";

/** Least reward of a valid plan, however costly: the default of the loop's reward. */
const V_MIN = 0.1;
const CUT_OFF: NoPlan = { code: "truncated", reason: "the reply was cut off by the length limit" };

export class Episode {
  private readonly plan: Move[][];
  private readonly limit: number;
  private steps = 0;
  private verdict: Verdict | undefined;

  /** @throws {InputError} for options that cannot go together */
  constructor(
    readonly id: string,
    private readonly board: FoundBoard,
    private readonly options: ResetOptions,
  ) {
    if (options.form === "moves" && options.rendering === "compact") {
      throw new InputError({
        message: "the moves form has no compact rendering",
        expected: "rendering: chat",
        remedy: "leave rendering out",
      });
    }
    this.plan = board.instance.agents.map(() => []);
    this.limit = stepsAllowed(board.instance, options.max_steps);
  }

  /** What reset answers. */
  begin(): StepResult {
    const { instance } = this.board;
    return this.result(this.options.form === "moves" ? firstPrompt(instance) : lake.prompt(instance, this.options.rendering));
  }

  /** @throws {InputError} for an action that does not fit the board @throws {EngineError} when the episode is over */
  step(action: Action): StepResult {
    if (this.verdict !== undefined) {
      throw new EngineError({ message: `the episode is over (${this.verdict.code}); reset starts the next`, value: this.id });
    }
    const { instance } = this.board;
    const { form, rendering } = this.options;
    if (action.moves === undefined && form === "answer") {
      if (this.moves > 0) {
        throw new EngineError({
          message: "the episode is being played by moves; a whole answer must come first",
          remedy: "go on with moves",
        });
      }
      this.verdict = lake.verify(instance, action.message!, action.finish_reason, rendering);
    } else {
      this.move(action);
    }
    this.steps++;
    const { verdict } = this;
    return this.result(verdict === undefined ? nextPrompt(instance, this.positions(), this.moves, this.limit) : verdict.reason);
  }

  state(): EpisodeState {
    const { board, options } = this;
    return {
      episode_id: this.id,
      step_count: this.steps,
      done: this.verdict !== undefined,
      instance: board.instance.id,
      seed: board.seed,
      form: options.form,
    };
  }

  private get moves(): number {
    return this.plan[0]!.length;
  }

  private move({ moves: given, message, finish_reason }: Action): void {
    const { instance } = this.board;
    const k = instance.agents.length;
    const read = given ?? (finish_reason === "length" ? CUT_OFF : readMoves(message!, k));
    if (!Array.isArray(read)) {
      this.verdict = this.unreadable(read);
      return;
    }
    if (read.length !== k) {
      throw new InputError({
        message: `${read.length} moves for ${k} agents`,
        value: read,
        expected: `one of ${ACTIONS.join(", ")} per agent`,
      });
    }
    for (const [agent, move] of read.entries()) this.plan[agent]!.push(move);
    const verdict = this.judged();
    // Before the last step an agent off its goal has broken nothing yet.
    if (verdict.code !== "goal-missed" || this.moves >= this.limit) this.verdict = verdict;
  }

  /** The moves so far as a plan, under every rule. */
  private judged(): Verdict {
    const { instance } = this.board;
    return lake.verify(instance, renderPlan(instance, this.plan, "chat"), "stop", "chat");
  }

  private unreadable({ code, reason }: NoPlan): Verdict {
    const { id, optimum } = this.board.instance;
    const optima = { sum_of_costs: optimum.sum_of_costs, makespan: optimum.makespan };
    const optimal = { sum_of_costs: false, makespan: false };
    return { instance: id, ok: false, code, reason, counts: { [code]: 1 }, optima, optimal };
  }

  /** Where the moves so far have led; an agent that left the grid stays where it was. */
  private positions(): Cell[] {
    const { size, agents } = this.board.instance;
    return agents.map(({ start }, agent) => {
      let [row, column] = start;
      for (const move of this.plan[agent]!) {
        const a = ACTIONS.indexOf(move);
        const [r, c] = [row + ROW_STEP[a]!, column + COLUMN_STEP[a]!];
        if (r >= 0 && r < size && c >= 0 && c < size) [row, column] = [r, c];
      }
      return [row, column];
    });
  }

  private result(prompt: string): StepResult {
    const { instance, objective, seed } = this.board;
    const { verdict } = this;
    const { size, holes, agents } = instance;
    const metadata = {
      instance: instance.id,
      episode_id: this.id,
      seed,
      ...(verdict === undefined ? {} : { ...facts(instance), verdict }),
    };
    const observation: Observation = {
      prompt,
      board: { size, holes, agents },
      positions: this.positions(),
      step: this.moves,
      code: verdict?.code ?? null,
      reason: verdict?.reason ?? null,
      valid: verdict?.ok ?? null,
      optimal: verdict === undefined ? null : verdict.optimal[objective] === true,
      cost: verdict?.costs?.[objective] ?? null,
      optimum: verdict?.optima[objective] ?? null,
      metadata,
    };
    return {
      observation,
      reward: verdict === undefined ? null : accuracyTerm(verdict, objective, V_MIN),
      done: verdict !== undefined,
      metadata,
    };
  }
}

/** What would help a policy, told once the episode is over. */
function facts(instance: Instance): Record<string, unknown> {
  return { hash: instance.hash, [lake.stratumLabel]: lake.stratum(instance), ...lake.tags(instance) };
}
