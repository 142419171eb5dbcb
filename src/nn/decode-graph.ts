/**
 * The graphs of sampling. `prefillGraph` reads whole prompts and gives the logits after them and every layer's keys and values.
 * `decodeGraph` reads one token a row and a static past: the past is scored where it lies (zero-copy input), the new token apart, both
 * meet in one softmax, and only the new keys and values leave the graph, to be written into the cache by the sampler.
 */
import { decoder, parameterInputs } from "./decoder.js";
import { GraphBuilder, type Value } from "./graph/builder.js";
import { add, emit, gatedSilu, gatherRows, linear, matmul, reshape, rmsNorm, rotaryTables, split, swapLast } from "./graph/operators.js";
import type { Qwen3Config } from "./qwen3-config.js";

/** Inputs: parameters, `tokens` [B·T] int32, `rows` [B] int32. Outputs: `logits` [B, V], `k<l>` and `v<l>` [B, KV, T, hd]. */
export function prefillGraph(config: Qwen3Config, length: number): Uint8Array {
  const g = new GraphBuilder();
  const parameters = parameterInputs(g, config);
  const tokens = g.input("tokens", ["N"], "int32");
  const rows = g.input("rows", ["M"], "int32");
  const states = decoder(g, config, parameters, tokens, rows, length, (layer, keys, values) => {
    g.output(`k${layer}`, keys);
    g.output(`v${layer}`, values);
  });
  g.output("logits", linear(g, states, parameters.get("model.embed_tokens.weight")!));
  return g.build();
}

/**
 * Inputs: parameters, `tokens` [B] int32, `positions` [B, 1] int64, `inverseTemperature` [B, 1], `mask` [B, 1, 1, S] (0 or −1e9),
 * `k<l>`, `v<l>` [B, KV, S, hd]. Outputs: `logits` [B, V] times the inverse temperature, `probabilities` [B, V], `newK<l>`, `newV<l>`
 * [B, KV·hd].
 */
export function decodeGraph(config: Qwen3Config, capacity: number): Uint8Array {
  const g = new GraphBuilder();
  const parameters = parameterInputs(g, config);
  const { num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim: hd } = config;
  const groups = heads / kvHeads;
  const parameter = (name: string) => parameters.get(name)!;
  const norm = (x: Value, name: string) => rmsNorm(g, x, parameter(name), config.rms_norm_eps);
  const tokens = g.input("tokens", ["B"], "int32");
  const positions = g.input("positions", ["B", 1], "int64");
  const inverseTemperature = g.input("inverseTemperature", ["B", 1]);
  const mask = g.input("mask", ["B", 1, 1, capacity]);
  const tables = new Map(
    [hd ** -0.5, 1].map((scale) => [scale, rotaryTables(config.max_position_embeddings, hd, config.rope_theta, scale)]),
  );
  const half = [config.max_position_embeddings, hd / 2];

  /** Normalised, rotated heads of one token a row, [B, count·hd]. */
  const placed = (x: Value, count: number, name: string, scale: number) => {
    const { cos, sin } = tables.get(scale)!;
    const normal = norm(reshape(g, x, ["heads", hd]), name);
    const line = reshape(g, normal, ["B", 1, count * hd]);
    const inputs = [line, positions, g.constant(cos, half), g.constant(sin, half)];
    const turned = emit(g, "RotaryEmbedding", inputs, line.shape, { num_heads: count, interleaved: 0 }, "com.microsoft");
    return reshape(g, turned, ["B", count * hd]);
  };

  let stream = gatherRows(g, parameter("model.embed_tokens.weight"), tokens);
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const layer = `model.layers.${l}.`;
    const pastK = g.input(`k${l}`, ["B", kvHeads, capacity, hd]);
    const pastV = g.input(`v${l}`, ["B", kvHeads, capacity, hd]);
    const qkv = linear(g, norm(stream, `${layer}input_layernorm.weight`), parameter(`${layer}self_attn.qkv_proj.weight`));
    const [q, k, v] = split(g, qkv, [heads * hd, kvHeads * hd, kvHeads * hd]);
    const newK = placed(k!, kvHeads, `${layer}self_attn.k_norm.weight`, 1);
    g.output(`newK${l}`, newK);
    g.output(`newV${l}`, v!);

    const queries = reshape(g, placed(q!, heads, `${layer}self_attn.q_norm.weight`, hd ** -0.5), ["B", kvHeads, groups, hd]);
    const perHead = ["B", kvHeads, 1, hd];
    const past = emit(g, "Add", [matmul(g, queries, swapLast(g, pastK)), mask], ["B", kvHeads, groups, capacity]);
    const product = emit(g, "Mul", [queries, reshape(g, newK, perHead)], queries.shape);
    const own = emit(g, "ReduceSum", [product, g.integers([-1])], ["B", kvHeads, groups, 1], { keepdims: 1 });
    const scoreShape = ["B", kvHeads, groups, capacity + 1];
    const weights = emit(g, "Softmax", [emit(g, "Concat", [past, own], scoreShape, { axis: 3 })], scoreShape, { axis: -1 });
    const [pastWeights, ownWeight] = split(g, weights, [capacity, 1]);
    const mixed = add(g, matmul(g, pastWeights!, pastV), emit(g, "Mul", [ownWeight, reshape(g, v!, perHead)], ["B", kvHeads, groups, hd]));
    stream = add(g, stream, linear(g, reshape(g, mixed, ["B", heads * hd]), parameter(`${layer}self_attn.o_proj.weight`)));
    const hidden = linear(g, norm(stream, `${layer}post_attention_layernorm.weight`), parameter(`${layer}mlp.gate_up_proj.weight`));
    const [gate, up] = split(g, hidden, [config.intermediate_size, config.intermediate_size]);
    stream = add(g, stream, linear(g, gatedSilu(g, gate!, up!), parameter(`${layer}mlp.down_proj.weight`)));
  }
  const logits = linear(g, norm(stream, "model.norm.weight"), parameter("model.embed_tokens.weight"));
  const scaled = emit(g, "Mul", [logits, inverseTemperature], logits.shape);
  g.output("logits", scaled);
  g.output("probabilities", emit(g, "Softmax", [scaled], scaled.shape, { axis: -1 }));
  return g.build();
}
