/**
 * Shape of a Qwen3 decoder under the field names of Hugging Face's config.json, and where each of its parameters lies in one flat
 * Float32Array. Refuses what the graphs do not compute: untied output embeddings, attention bias, odd head sizes.
 */
import { z } from "zod";
import { ConfigError, type Seed } from "../core/index.js";

const size = z.int().positive();

export const qwen3ConfigSchema = z
  .strictObject({
    vocab_size: size,
    hidden_size: size,
    intermediate_size: size,
    num_hidden_layers: size,
    num_attention_heads: size,
    num_key_value_heads: size,
    head_dim: size.refine((n) => n % 2 === 0, "head_dim must be even: rotary embeddings turn pairs"),
    max_position_embeddings: size,
    rms_norm_eps: z.number().positive().default(1e-6),
    rope_theta: z.number().positive().default(1_000_000),
    tie_word_embeddings: z.literal(true, { error: "tie_word_embeddings must be true: a separate lm_head is not supported" }).default(true),
  })
  .refine((c) => c.num_attention_heads % c.num_key_value_heads === 0, {
    error: "num_attention_heads must be a multiple of num_key_value_heads",
    path: ["num_key_value_heads"],
  });

export type Qwen3Config = z.infer<typeof qwen3ConfigSchema>;

/** @throws {ConfigError} naming the first field that is wrong. */
export function parseQwen3Config(value: unknown): Qwen3Config {
  const parsed = qwen3ConfigSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new ConfigError({
    message: `Qwen3 config: ${issue.path.join(".") || "config"}: ${issue.message}`,
    value,
    expected: "the fields of a Hugging Face Qwen3 config.json with tied embeddings",
  });
}

export interface ParameterSpec {
  /** Hugging Face name. */
  readonly name: string;
  /** [out, in] for matrices, [n] for norms. */
  readonly shape: readonly number[];
  /** In floats, from the start of the flat buffer. */
  readonly offset: number;
  readonly size: number;
}

export interface ParameterLayout {
  readonly specs: readonly ParameterSpec[];
  /** Floats in the flat buffer. */
  readonly total: number;
}

/**
 * Every parameter in the order of the transformers state dict. q, k, v and gate, up are neighbours, so that a graph can read each
 * of the two groups as one matrix (see `graphParameters`).
 */
export function parameterLayout(config: Qwen3Config): ParameterLayout {
  const { hidden_size: d, intermediate_size: ff, head_dim: hd } = config;
  const queries = config.num_attention_heads * hd;
  const keys = config.num_key_value_heads * hd;
  const shapes: [string, number[]][] = [["model.embed_tokens.weight", [config.vocab_size, d]]];
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const layer = `model.layers.${l}.`;
    shapes.push(
      [`${layer}self_attn.q_proj.weight`, [queries, d]],
      [`${layer}self_attn.k_proj.weight`, [keys, d]],
      [`${layer}self_attn.v_proj.weight`, [keys, d]],
      [`${layer}self_attn.o_proj.weight`, [d, queries]],
      [`${layer}self_attn.q_norm.weight`, [hd]],
      [`${layer}self_attn.k_norm.weight`, [hd]],
      [`${layer}mlp.gate_proj.weight`, [ff, d]],
      [`${layer}mlp.up_proj.weight`, [ff, d]],
      [`${layer}mlp.down_proj.weight`, [d, ff]],
      [`${layer}input_layernorm.weight`, [d]],
      [`${layer}post_attention_layernorm.weight`, [d]],
    );
  }
  shapes.push(["model.norm.weight", [d]]);
  let total = 0;
  const specs = shapes.map(([name, shape]) => {
    const spec = { name, shape, offset: total, size: shape.reduce((a, b) => a * b, 1) };
    total += spec.size;
    return spec;
  });
  return { specs, total };
}

/**
 * The parameters as graph inputs: as `parameterLayout`, but the neighbours q, k, v are one input `…self_attn.qkv_proj.weight`
 * [(H+2·KV)·head_dim, d] and gate, up one input `…mlp.gate_up_proj.weight` [2·ff, d]: fewer and larger products.
 */
export function graphParameters(config: Qwen3Config): readonly ParameterSpec[] {
  const inputs: ParameterSpec[] = [];
  for (const spec of parameterLayout(config).specs) {
    if (/\.(k_proj|v_proj|up_proj)\.weight$/.test(spec.name)) {
      const first = inputs.pop()!;
      inputs.push({ ...first, shape: [first.shape[0]! + spec.shape[0]!, first.shape[1]!], size: first.size + spec.size });
    } else {
      const name = spec.name.replace(".q_proj.", ".qkv_proj.").replace(".gate_proj.", ".gate_up_proj.");
      inputs.push({ ...spec, name });
    }
  }
  return inputs;
}

/** Where a token lies on the board, when it names a cell; `kind` tells apart tokens that name the same cell in different roles. */
export interface CellFeature {
  row: number;
  column: number;
  kind: number;
}

const INITIAL_DEVIATION = 0.02;

/**
 * Matrices normal(0, 0.02), norms 1. Rows of the embedding whose token names a cell start as two-dimensional Fourier features of
 * (row, column), scaled to the same deviation: neighbouring cells start similar, and each kind has its own random part.
 */
export function initialParameters(
  config: Qwen3Config,
  seed: Seed,
  cellFeatures?: (token: number) => CellFeature | undefined,
): Float32Array {
  const { specs, total } = parameterLayout(config);
  const parameters = new Float32Array(total);
  specs.forEach((spec, index) => {
    const part = parameters.subarray(spec.offset, spec.offset + spec.size);
    if (spec.shape.length === 1) {
      part.fill(1);
      return;
    }
    const random = seed.at(index);
    for (let i = 0; i < part.length; i++) part[i] = random.normal() * INITIAL_DEVIATION;
  });
  if (cellFeatures !== undefined) addCellFeatures(config, seed, cellFeatures, parameters);
  return parameters;
}

function addCellFeatures(
  config: Qwen3Config,
  seed: Seed,
  cellFeatures: (token: number) => CellFeature | undefined,
  parameters: Float32Array,
): void {
  const d = config.hidden_size;
  // Frequencies are shared by all kinds, so that a hole, a start and a path cell at one place begin aligned; the phases are the kind's.
  const frequencies = seed.child("cell-frequencies").at(0);
  const waves = Array.from({ length: d }, () => ({
    row: (frequencies.float() * 2 - 1) * Math.PI * 0.5,
    column: (frequencies.float() * 2 - 1) * Math.PI * 0.5,
    phase: frequencies.float() * 2 * Math.PI,
  }));
  const phases = seed.child("cell-phases");
  for (let token = 0; token < config.vocab_size; token++) {
    const cell = cellFeatures(token);
    if (cell === undefined) continue;
    const kind = phases.at(cell.kind);
    for (let i = 0; i < d; i++) {
      const wave = waves[i]!;
      const feature = Math.SQRT2 * Math.cos(wave.row * cell.row + wave.column * cell.column + wave.phase);
      const offset = kind.normal();
      parameters[token * d + i] = INITIAL_DEVIATION * (0.8 * feature + 0.5 * offset) + 0.3 * parameters[token * d + i]!;
    }
  }
}
