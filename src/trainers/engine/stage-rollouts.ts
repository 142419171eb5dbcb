/**
 * What the reward service judged → the rollout records of a stage. Completions are counted into steps of `stepSize`, and in a step into
 * groups by instance. Engines sample out of sight: advantages are theirs and are not recorded.
 */
import { type InstanceBase, type JudgedCompletion, mean, type Rollout } from "../../core/index.js";

export class StageRollouts<I extends InstanceBase> {
  private readonly judged: JudgedCompletion[] = [];
  private readonly strata: ReadonlyMap<string, string>;

  constructor(
    private readonly stage: number,
    private readonly stepSize: number,
    instances: readonly I[],
    stratum: (instance: I) => string,
  ) {
    this.strata = new Map(instances.map((instance) => [instance.id, stratum(instance)]));
  }

  /** Completions of other instances than the stage's (a validation of the engine's own) are left out. */
  add(completions: readonly JudgedCompletion[]): void {
    for (const completion of completions) if (this.strata.has(completion.instance)) this.judged.push(completion);
  }

  get count(): number {
    return this.judged.length;
  }

  /** Of each step in order, the groups in the order in which their first completion was judged. */
  *steps(): Generator<Rollout[][]> {
    for (let step = 0; step * this.stepSize < this.judged.length; step++) {
      const groups = new Map<string, Rollout[]>();
      const order = new Map<string, number>();
      for (const judged of this.judged.slice(step * this.stepSize, (step + 1) * this.stepSize)) {
        const group = groups.get(judged.instance) ?? [];
        groups.set(judged.instance, group);
        if (group.length === 0) order.set(judged.instance, groups.size - 1);
        group.push({
          id: `${this.stage}/train/${step}/${order.get(judged.instance)!}/${group.length}`,
          instance: judged.instance,
          stratum: this.strata.get(judged.instance)!,
          stage: this.stage,
          step,
          sample: group.length,
          completion: judged.completion,
          tokens: judged.tokens,
          finish_reason: judged.finishReason,
          verdict: judged.verdict,
          reward: judged.reward,
        });
      }
      yield [...groups.values()];
    }
  }

  /** The loop's own metrics of a step, whatever the engine logs; undefined until all of the step is judged. */
  metrics(step: number): Record<string, number> | undefined {
    const rows = this.judged.slice(step * this.stepSize, (step + 1) * this.stepSize);
    if (rows.length < this.stepSize) return undefined;
    return {
      reward: mean(rows.map((r) => r.reward.total)),
      "rewards/accuracy": mean(rows.map((r) => r.reward.accuracy)),
      "rewards/length": mean(rows.map((r) => r.reward.length)),
      accuracy_weight: rows[0]!.reward.weight,
      valid: mean(rows.map((r) => (r.verdict.ok ? 1 : 0))),
      "completions/mean_length": mean(rows.map((r) => r.tokens)),
      "completions/clipped_ratio": mean(rows.map((r) => (r.finishReason === "length" ? 1 : 0))),
      completion_tokens: rows.reduce((sum, r) => sum + r.tokens, 0),
    };
  }
}
