/**
 * The tied output layer, seen only through what the losses need: the log-probability of each target token, the entropy, and their
 * gradient. The matrix of logits [M, V] is the largest array of the whole graph, so it is passed over as rarely as possible, and no
 * one-hot matrix is made.
 */
import type { GraphBuilder, Value } from "./graph/builder.js";
import { emit, rowGradient } from "./graph/operators.js";

export interface TokenLogProb {
  /** log softmax(states·Eᵀ·inverseTemperature)[target], [M]. */
  readonly logProb: Value;
  /** Entropy of the same distribution in nats, [M]. Without gradient. */
  readonly entropy: Value;
}

/** states [M, d], embedding E [V, d], targets [M] int32, inverseTemperature []. */
export function tokenLogProb(g: GraphBuilder, states: Value, embedding: Value, targets: Value, inverseTemperature: Value): TokenLogProb {
  const rows = states.shape[0]!;
  const vocabulary = embedding.shape[0]!;
  const last = g.integers([-1]);
  const column = [rows, 1];
  const keep = { keepdims: 1 };

  const { scaled, probabilities, expected, target, logProb, entropy } = g.untaped(() => {
    const scaled = emit(g, "Mul", [states, inverseTemperature], states.shape);
    const logits = emit(g, "Gemm", [scaled, embedding], [rows, vocabulary], { transB: 1 });
    const probabilities = emit(g, "Softmax", [logits], [rows, vocabulary], { axis: -1 });
    // log Σ exp = max logit − log max probability: the largest probability is at least 1/V, so the logarithm never underflows.
    const top = emit(g, "ReduceMax", [logits, last], column, keep);
    const topProbability = emit(g, "ReduceMax", [probabilities, last], column, keep);
    const logSum = emit(g, "Sub", [top, emit(g, "Log", [topProbability], column)], column);
    // The expected embedding Σ p·E serves the entropy here and the gradient below.
    const expected = emit(g, "MatMul", [probabilities, embedding], states.shape);
    const target = emit(g, "Gather", [embedding, targets], states.shape, { axis: 0 });
    const against = (x: Value) => emit(g, "ReduceSum", [emit(g, "Mul", [scaled, x], states.shape), last], column, keep);
    const flat = (x: Value) => emit(g, "Reshape", [x, last], [rows]);
    return {
      scaled,
      probabilities,
      expected,
      target,
      logProb: flat(emit(g, "Sub", [against(target), logSum], column)),
      entropy: flat(emit(g, "Sub", [logSum, against(expected)], column)),
    };
  });

  g.record({
    inputs: [states, embedding],
    outputs: [logProb],
    backward: ([dLogProb]) => {
      const weight = emit(g, "Reshape", [dLogProb, g.integers([-1, 1])], column);
      const weighted = emit(g, "Mul", [scaled, weight], states.shape);
      return [
        () => {
          const towards = emit(g, "Sub", [target, expected], states.shape);
          return emit(g, "Mul", [towards, emit(g, "Mul", [weight, inverseTemperature], column)], states.shape);
        },
        () => emit(g, "Gemm", [probabilities, weighted], embedding.shape, { transA: 1, alpha: { float: -1 } }),
      ];
    },
  });
  // The target's own row of the embedding; a second entry, because it is a gradient of rows and the one above is dense.
  g.record({
    inputs: [embedding],
    outputs: [logProb],
    backward: ([dLogProb]) => [
      () => {
        const weight = emit(g, "Reshape", [dLogProb, g.integers([-1, 1])], column);
        return rowGradient(g, targets, emit(g, "Mul", [scaled, weight], states.shape));
      },
    ],
  });
  return { logProb, entropy };
}
