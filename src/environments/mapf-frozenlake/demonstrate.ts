/**
 * An optimal answer as the policy should write it, for supervised base training. Deterministic. Under makespan, a plan that is optimal in
 * both objectives is preferred where the solver's own sum-of-costs plan happens to be one: it has no idle detours.
 */
import { EngineError, type Rendering } from "../../core/index.js";
import type { Instance } from "./instance.js";
import { renderPlan } from "./prompt.js";
import type { Action, Objective } from "./rules.js";
import { solve } from "./solve/index.js";

export function demonstrate(instance: Instance, objective: Objective, rendering: Rendering): string {
  return renderPlan(instance, optimalPlan(instance, objective), rendering);
}

/** One list of actions per agent, trailing waits left out. @throws {EngineError} when the solver's budget runs out */
export function optimalPlan(instance: Instance, objective: Objective): Action[][] {
  const bySum = solve(instance, { objectives: ["sum_of_costs"] }).plans.sum_of_costs;
  if (bySum !== undefined && (objective === "sum_of_costs" || longest(bySum) === instance.optimum.makespan))
    return withoutTrailingWaits(bySum);
  const plan = objective === "sum_of_costs" ? undefined : solve(instance, { objectives: ["makespan"] }).plans.makespan;
  if (plan === undefined) {
    throw new EngineError({
      message: `no ${objective} plan found for instance ${instance.id} within the solver's budget`,
      value: instance.id,
    });
  }
  return withoutTrailingWaits(plan);
}

function longest(plan: readonly Action[][]): number {
  return Math.max(...withoutTrailingWaits(plan).map((actions) => actions.length));
}

/** Waits after the last move are free at the goal and cost tokens. */
function withoutTrailingWaits(plan: readonly Action[][]): Action[][] {
  return plan.map((actions) => actions.slice(0, actions.findLastIndex((action) => action !== "WAIT") + 1));
}
