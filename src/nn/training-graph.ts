/**
 * The graphs of training: forward, loss and gradient of a micro-batch in one run, and the forward half alone.
 *
 * Inputs: every parameter of `graphParameters`, `tokens` [B·T] int32, `rows` [M] int32 (the position that predicts each completion
 * token, as b·T + t), `targets` [M] int32, `inverseTemperature` []; for a loss `weights` [M]; for the policy loss `advantages`,
 * `oldLogProbs`, `referenceLogProbs` [M] and the scalars `clipLow`, `clipHigh`, `klCoefficient`. All normalisation lies in the weights.
 * Outputs: `logProbs` [M], `entropies` [M]; with a loss `loss` [] and `d:<parameter>` for each parameter.
 */
import { decoder, parameterInputs } from "./decoder.js";
import { gradients } from "./graph/autodiff.js";
import { GraphBuilder, type Value } from "./graph/builder.js";
import { add, clip, exponential, minimum, multiply, negate, subtract, sum } from "./graph/operators.js";
import type { Qwen3Config } from "./qwen3-config.js";
import { tokenLogProb } from "./token-log-prob.js";

export type GraphKind = "log-probs" | "nll" | "policy";

export function gradientName(parameter: string): string {
  return `d:${parameter}`;
}

/** `length` is the padded length T; B and M are free. */
export function trainingGraph(config: Qwen3Config, kind: GraphKind, length: number): GraphBuilder {
  const g = new GraphBuilder();
  const parameters = parameterInputs(g, config);
  const tokens = g.input("tokens", ["N"], "int32");
  const rows = g.input("rows", ["M"], "int32");
  const targets = g.input("targets", ["M"], "int32");
  const inverseTemperature = g.input("inverseTemperature", []);
  const states = decoder(g, config, parameters, tokens, rows, length);
  const { logProb, entropy } = tokenLogProb(g, states, parameters.get("model.embed_tokens.weight")!, targets, inverseTemperature);
  g.output("logProbs", logProb);
  g.output("entropies", entropy);
  if (kind === "log-probs") return g;

  const weights = g.input("weights", ["M"]);
  const perToken = kind === "nll" ? negate(g, logProb) : policyLoss(g, logProb);
  const loss = sum(g, multiply(g, perToken, weights));
  g.output("loss", loss);
  const values = [...parameters.values()];
  gradients(g, loss, values).forEach((gradient, i) => {
    g.output(gradientName(values[i]!.name), gradient);
  });
  return g;
}

/**
 * −min(r·A, clip(r, 1−ε_low, 1+ε_high)·A) + β·(exp(q) − q − 1) with r = exp(logp − old), q = ref − logp: the clipped surrogate
 * (Schulman et al., arXiv 1707.06347, eq. 7) with the k3 estimate of KL to a reference (Shao et al., arXiv 2402.03300, eq. 4).
 */
function policyLoss(g: GraphBuilder, logProb: Value): Value {
  const advantages = g.input("advantages", ["M"]);
  const old = g.input("oldLogProbs", ["M"]);
  const reference = g.input("referenceLogProbs", ["M"]);
  const [clipLow, clipHigh, beta] = ["clipLow", "clipHigh", "klCoefficient"].map((name) => g.input(name, [])) as [Value, Value, Value];
  const one = g.scalar(1);
  const low = g.untaped(() => subtract(g, one, clipLow));
  const high = g.untaped(() => add(g, one, clipHigh));

  const ratio = exponential(g, subtract(g, logProb, old));
  const surrogate = minimum(g, multiply(g, ratio, advantages), multiply(g, clip(g, ratio, low, high), advantages));
  const toReference = negate(g, subtract(g, logProb, reference));
  const kl = subtract(g, subtract(g, exponential(g, toReference), toReference), one);
  return add(g, negate(g, surrogate), multiply(g, kl, beta));
}
