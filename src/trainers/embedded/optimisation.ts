/** Options of a recipe → the optimiser of the engine, and one guarded optimiser step shared by supervised training and GRPO. */
import { DivergenceError, type OptimiserOptions } from "../../core/index.js";
import { AdamW, Muon, type Optimiser, type Qwen3Config } from "../../nn/index.js";

export async function createOptimiser(options: OptimiserOptions, config: Qwen3Config): Promise<Optimiser> {
  const adamw = { lr: options.lr, beta1: options.beta1, beta2: options.beta2, weightDecay: options.weight_decay };
  if (options.name === "adamw") return new AdamW(config, adamw);
  return Muon.create(config, { lr: options.muon_lr, weightDecay: options.weight_decay, adamw });
}

/** Adds `scale`·`extra` to `gradient` in place. */
export function accumulate(gradient: Float32Array, extra: Float32Array, scale: number): void {
  for (let i = 0; i < gradient.length; i++) gradient[i] = gradient[i]! + scale * extra[i]!;
}

/** @throws {DivergenceError} naming the first quantity that is not finite, before it can reach the parameters. */
export function assertFinite(values: Record<string, number>, at: string): void {
  for (const [name, value] of Object.entries(values)) {
    if (Number.isFinite(value)) continue;
    throw new DivergenceError({
      message: `training diverged at ${at}: ${name} is ${value}`,
      value,
      expected: "a finite number",
      remedy:
        "start again with a lower learning rate (trainer.grpo.optimiser.lr, in base training pretrain.optimiser.lr); a run can start from the last finished stage: --set base=RUN/stages/NN/checkpoint",
    });
  }
}
