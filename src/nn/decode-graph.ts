/**
 * The graphs of sampling. `prefillGraph` reads whole prompts and gives the logits after them and every layer's keys and values.
 *
 * `decodeGraph` reads one token a row. Rows that continue the same prompt lie side by side, `width` of them, and read the prompt's keys
 * and values once for all; their own tokens are read from a second cache. Both are scored where they lie (zero-copy inputs), the new
 * token apart, all three meet in one softmax, and only the new keys and values leave the graph, to be written into the cache outside.
 * Everything inside of attention is [KV, G, B, 1, ·] (G query heads a key head, B rows), so that B splits into prompts × width for free.
 */
import { decoder, parameterInputs } from "./decoder.js";
import { GraphBuilder, type Value } from "./graph/builder.js";
import {
  add,
  emit,
  gatedSilu,
  gatherRows,
  linear,
  matmul,
  reshape,
  rmsNorm,
  rotaryTables,
  split,
  swapLast,
  transpose,
} from "./graph/operators.js";
import type { Qwen3Config } from "./qwen3-config.js";

/** Rows in one run of the decode graph, at most: they take the place of time in the rotary operator, which wants a table as long. */
export const MOST_ROWS = 256;

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
 * Inputs: parameters, `tokens` [B] int32, `positions` [1, B] int64, `inverseTemperature` [B, 1], `grid` int64 = [0, 0, −1, width, 0],
 * `parts` int64 = [T, S, 1], `mask` [B, 1, T+S+1] (0 or −1e9), for each layer `promptK<l>`, `promptV<l>` [KV, 1, B/width, T, hd] and
 * `k<l>`, `v<l>` [KV, 1, B, S, hd]. Outputs: `probabilities` [B, V] at the temperature, `states` [2·layers, KV, B, hd], which are the new
 * keys and values layer by layer, and where asked for `logits` [B, V], divided by the temperature.
 */
export function decodeGraph(config: Qwen3Config, withLogits: boolean): Uint8Array {
  const g = new GraphBuilder();
  const parameters = parameterInputs(g, config);
  const { num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim: hd } = config;
  const groups = heads / kvHeads;
  const parameter = (name: string) => parameters.get(name)!;
  const norm = (x: Value, name: string) => rmsNorm(g, x, parameter(name), config.rms_norm_eps);
  const tokens = g.input("tokens", ["B"], "int32");
  const positions = g.input("positions", [1, "B"], "int64");
  const inverseTemperature = g.input("inverseTemperature", ["B", 1]);
  const grid = g.input("grid", [5], "int64");
  const parts = g.input("parts", [3], "int64");
  const mask = g.input("mask", ["B", 1, "T+S+1"]);
  const tableLength = Math.max(config.max_position_embeddings, MOST_ROWS);
  const tables = [hd ** -0.5, 1].map((scale) => {
    const { cos, sin } = rotaryTables(tableLength, hd, config.rope_theta, scale);
    return [cos, sin].map((table) => g.constant(table, [tableLength, hd / 2]));
  });

  const rows = ["B"] as const;
  const inRows = (last: number | string) => [kvHeads, groups, ...rows, 1, last];
  const inGrid = (last: number | string) => [kvHeads, groups, "P", "width", last];
  /** [KV, G, B, 1, n] ↔ [KV, G, P, width, n]: the same bytes. */
  const toGrid = (x: Value) => emit(g, "Reshape", [x, grid], inGrid(x.shape.at(-1)!));
  const toRows = (x: Value) => emit(g, "Reshape", [x, g.integers([0, 0, -1, 1, 0])], inRows(x.shape.at(-1)!));
  const placed = (x: Value, name: string, table: readonly Value[]) =>
    emit(g, "RotaryEmbedding", [norm(x, name), positions, ...table], x.shape, { interleaved: 0 }, "com.microsoft");
  /** stream + x·wᵀ in one product. */
  const residual = (stream: Value, x: Value, w: Value) => emit(g, "Gemm", [x, w, stream], stream.shape, { transB: 1 });

  const states: Value[] = [];
  let stream = gatherRows(g, parameter("model.embed_tokens.weight"), tokens);
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const layer = `model.layers.${l}.`;
    const [promptK, promptV] = ["K", "V"].map((x) => g.input(`prompt${x}${l}`, [kvHeads, 1, "P", "T", hd])) as [Value, Value];
    const [ownK, ownV] = ["k", "v"].map((x) => g.input(`${x}${l}`, [kvHeads, 1, "B", "S", hd])) as [Value, Value];

    const qkv = linear(g, norm(stream, `${layer}input_layernorm.weight`), parameter(`${layer}self_attn.qkv_proj.weight`));
    const perHead = transpose(g, reshape(g, qkv, [1, "B", heads + 2 * kvHeads, hd]), [0, 2, 1, 3]);
    const [q, k, v] = split(g, perHead, [heads, kvHeads, kvHeads], 1) as [Value, Value, Value];
    const newK = placed(k, `${layer}self_attn.k_norm.weight`, tables[1]!);
    states.push(newK, v);

    const queries = reshape(g, placed(q, `${layer}self_attn.q_norm.weight`, tables[0]!), inRows(hd));
    const [keys, values] = [newK, v].map((x) => reshape(g, x, [kvHeads, 1, "B", 1, hd])) as [Value, Value];
    const fromPrompt = toRows(matmul(g, toGrid(queries), swapLast(g, promptK)));
    const fromOwn = matmul(g, queries, swapLast(g, ownK));
    const fromSelf = emit(g, "ReduceSum", [emit(g, "Mul", [queries, keys], inRows(hd)), g.integers([-1])], inRows(1), { keepdims: 1 });
    const scores = emit(g, "Concat", [fromPrompt, fromOwn, fromSelf], inRows("T+S+1"), { axis: 4 });
    const weights = emit(g, "Softmax", [emit(g, "Add", [scores, mask], scores.shape)], scores.shape, { axis: -1 });
    const [onPrompt, onOwn, onSelf] = g.node(
      "Split",
      [weights, parts],
      ["T", "S", 1].map((n) => ({ shape: inRows(n) })),
      {
        axis: 4,
      },
    ) as [Value, Value, Value];
    const ofPrompt = toRows(matmul(g, toGrid(onPrompt), promptV));
    const ofOwn = matmul(g, onOwn, ownV);
    const mixed = add(g, add(g, ofPrompt, ofOwn), emit(g, "Mul", [onSelf, values], inRows(hd)));
    const line = reshape(g, transpose(g, mixed, [2, 3, 0, 1, 4]), ["B", heads * hd]);
    stream = residual(stream, line, parameter(`${layer}self_attn.o_proj.weight`));

    const hidden = linear(g, norm(stream, `${layer}post_attention_layernorm.weight`), parameter(`${layer}mlp.gate_up_proj.weight`));
    const [gate, up] = split(g, hidden, [config.intermediate_size, config.intermediate_size]) as [Value, Value];
    stream = residual(stream, gatedSilu(g, gate, up), parameter(`${layer}mlp.down_proj.weight`));
  }
  const last = norm(stream, "model.norm.weight");
  // d numbers a row to scale instead of V.
  const scaled = emit(g, "Mul", [last, inverseTemperature], last.shape);
  const logits = linear(g, scaled, parameter("model.embed_tokens.weight"));
  if (withLogits) g.output("logits", logits);
  g.output("probabilities", emit(g, "Softmax", [logits], logits.shape, { axis: -1 }));
  // One output is quicker to hand over than one a layer.
  g.output("states", emit(g, "Concat", states, [states.length, kvHeads, "B", hd], { axis: 0 }));
  return g.build();
}
