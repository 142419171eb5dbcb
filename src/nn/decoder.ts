/**
 * The Qwen3 decoder as graph nodes, for whole right-padded sequences: embedding, layers with causal grouped-query attention, final norm.
 * (Qwen3 technical report, arXiv 2505.09388; RMSNorm on each head of q and k before the rotary embedding, no biases.)
 *
 * The number of sequences is known only at run time; their padded length is fixed. Only chosen rows of the stream leave the decoder, and
 * the last layer computes its output projection and MLP for those rows alone.
 */
import type { GraphBuilder, Value } from "./graph/builder.js";
import {
  add,
  concat,
  emit,
  gatedSilu,
  gatherRows,
  linear,
  matmul,
  prefix,
  reshape,
  rmsNorm,
  rotary,
  split,
  swapLast,
  transpose,
} from "./graph/operators.js";
import { graphParameters, type Qwen3Config } from "./qwen3-config.js";

export type ParameterValues = ReadonlyMap<string, Value>;

/** Declares every parameter as a graph input. */
export function parameterInputs(g: GraphBuilder, config: Qwen3Config): ParameterValues {
  return new Map(graphParameters(config).map((spec) => [spec.name, g.input(spec.name, spec.shape)]));
}

/**
 * tokens [B·T] int32 (sequence after sequence, each padded to `length`), rows [M] int32 → states [M, d] after the final norm.
 * `onKeysValues` is shown each layer's keys (rotated) and values, [B, KV, T, hd]: what a cache starts from.
 */
export function decoder(
  g: GraphBuilder,
  config: Qwen3Config,
  parameters: ParameterValues,
  tokens: Value,
  rows: Value,
  length: number,
  onKeysValues?: (layer: number, keys: Value, values: Value) => void,
): Value {
  const parameter = (name: string) => parameters.get(name)!;
  const norm = (x: Value, name: string) => rmsNorm(g, x, parameter(name), config.rms_norm_eps);
  const ff = config.intermediate_size;

  let stream = gatherRows(g, parameter("model.embed_tokens.weight"), tokens);
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const layer = `model.layers.${l}.`;
    let mixed = attention(g, config, parameters, layer, norm(stream, `${layer}input_layernorm.weight`), length, (k, v) =>
      onKeysValues?.(l, k, v),
    );
    if (l === config.num_hidden_layers - 1) {
      mixed = gatherRows(g, mixed, rows);
      stream = gatherRows(g, stream, rows);
    }
    stream = add(g, stream, linear(g, mixed, parameter(`${layer}self_attn.o_proj.weight`)));
    const hidden = norm(stream, `${layer}post_attention_layernorm.weight`);
    // The matrix is taken apart, not the product: the rows of the one lie together, the columns of the other do not.
    const [gate, up] = split(g, parameter(`${layer}mlp.gate_up_proj.weight`), [ff, ff], 0).map((w) => linear(g, hidden, w));
    stream = add(g, stream, linear(g, gatedSilu(g, gate!, up!), parameter(`${layer}mlp.down_proj.weight`)));
  }
  return norm(stream, "model.norm.weight");
}

/** x [N, d] → heads' outputs side by side [N, H·hd]. Queries of one KV head are stacked along time, so that K and V are never repeated. */
function attention(
  g: GraphBuilder,
  config: Qwen3Config,
  parameters: ParameterValues,
  layer: string,
  x: Value,
  length: number,
  onKeysValues: (keys: Value, values: Value) => void,
): Value {
  const { num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim: hd, rope_theta: theta } = config;
  const qkv = linear(g, x, parameters.get(`${layer}self_attn.qkv_proj.weight`)!);
  // One transposition for all three, before they are taken apart.
  const perHead = transpose(g, reshape(g, qkv, ["B", length, heads + 2 * kvHeads, hd]), [0, 2, 1, 3]);
  const [q, k, values] = split(g, perHead, [heads, kvHeads, kvHeads], 1);
  const placed = (value: Value, normName: string, scale: number) =>
    rotary(g, rmsNorm(g, value, parameters.get(`${layer}self_attn.${normName}.weight`)!, config.rms_norm_eps), theta, scale);
  const queries = reshape(g, placed(q!, "q_norm", hd ** -0.5), ["B", kvHeads, (heads / kvHeads) * length, hd]);
  const keys = placed(k!, "k_norm", 1);
  onKeysValues(keys, values!);

  const mixed = causalAttention(g, queries, keys, values!, length);
  const byPosition = transpose(g, reshape(g, mixed, ["B", heads, length, hd]), [0, 2, 1, 3]);
  return reshape(g, byPosition, ["N", heads * hd]);
}

/** Below this length the parts of a blocked attention cost more than what they leave out. */
const BLOCKED_FROM = 128;
const BLOCKS = 3;

/**
 * Causal attention for q [B, KV, G·T, hd], k and v [B, KV, T, hd]. Long sequences are cut into blocks of queries, each of which reads only
 * the keys up to its own end: a third of the scores, which would all be masked, is never computed. Not with grouped queries, whose rows are
 * not in the order of time.
 */
function causalAttention(g: GraphBuilder, q: Value, k: Value, v: Value, length: number): Value {
  const groups = (q.shape[2] as number) / length;
  if (groups > 1 || length < BLOCKED_FROM) return attend(g, q, k, v, causalMask(g, groups, 0, length, length));
  const size = Math.ceil(length / BLOCKS);
  const starts = Array.from({ length: BLOCKS }, (_, b) => b * size);
  const ends = starts.map((start) => Math.min(start + size, length));
  const queries = split(
    g,
    q,
    starts.map((start, b) => ends[b]! - start),
    2,
  );
  const outputs = queries.map((part, b) => {
    const end = ends[b]!;
    return attend(g, part, prefix(g, k, end, 2), prefix(g, v, end, 2), causalMask(g, 1, starts[b]!, end - starts[b]!, end));
  });
  return concat(g, outputs, 2);
}

/** softmax(q·kᵀ + mask)·v for q [B, KV, G·T, hd], k and v [B, KV, T, hd]; q carries the scale. */
function attend(g: GraphBuilder, q: Value, k: Value, v: Value, mask: Value): Value {
  const scoreShape = [...q.shape.slice(0, 3), k.shape[2]!];
  const { weights, out } = g.untaped(() => {
    const scores = emit(g, "Add", [matmul(g, q, swapLast(g, k)), mask], scoreShape);
    const weights = emit(g, "Softmax", [scores], scoreShape, { axis: -1 });
    return { weights, out: matmul(g, weights, v) };
  });
  g.record({
    inputs: [q, k, v],
    outputs: [out],
    backward: ([dOut]) => {
      // dS = P ∘ (dP − D) with D = rowsum(dO ∘ O): D needs no pass over the scores (Dao et al., arXiv 2205.14135, appendix B.2).
      const rowSum = emit(g, "ReduceSum", [emit(g, "Mul", [dOut, out], q.shape), g.integers([-1])], [...q.shape.slice(0, 3), 1], {
        keepdims: 1,
      });
      const dWeights = matmul(g, dOut!, swapLast(g, v));
      const dScores = emit(g, "Mul", [emit(g, "Sub", [dWeights, rowSum], scoreShape), weights], scoreShape);
      return [() => matmul(g, dScores, k), () => matmul(g, swapLast(g, dScores), q), () => matmul(g, swapLast(g, weights), dOut!)];
    },
  });
  return out;
}

/** 0 where key ≤ query, −1e9 elsewhere, [G·queries, keys] for queries from `start` on. Padding lies to the right: causality hides it too. */
function causalMask(g: GraphBuilder, groups: number, start: number, queries: number, keys: number): Value {
  const mask = new Float32Array(groups * queries * keys);
  for (let row = 0; row < groups * queries; row++) {
    for (let key = start + (row % queries) + 1; key < keys; key++) mask[row * keys + key] = -1e9;
  }
  return g.constant(mask, [groups * queries, keys]);
}
