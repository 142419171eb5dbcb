/**
 * Checkpoints: Hugging Face folders (config.json, generation_config.json, tokenizer files, model.safetensors) that transformers, vLLM, TRL
 * and verl open as `Qwen3ForCausalLM`. Written whole or not at all; read back only when every tensor has the name and shape that the
 * config implies.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { CorruptFileError, parseJsonWith, parseWith } from "../core/index.js";
import { parameterLayout, type Qwen3Config, qwen3ConfigSchema } from "./qwen3-config.js";
import { readSafetensors, type Tensor, writeSafetensors } from "./safetensors.js";
import { Tokenizer } from "./tokenizer.js";

export interface Checkpoint {
  config: Qwen3Config;
  /** All parameters in the order of `parameterLayout`. */
  parameters: Float32Array;
  tokenizer: Tokenizer;
}

const WEIGHTS = "model.safetensors";
const CONFIG = "config.json";

/** What the graphs compute, of the fields that a Qwen3 config may carry; another value would be another function. */
const headSchema = z.looseObject({
  model_type: z.string().optional(),
  hidden_act: z.literal("silu", { error: "hidden_act must be silu" }).optional(),
  attention_bias: z.literal(false, { error: "attention_bias must be false" }).optional(),
  use_sliding_window: z.literal(false, { error: "use_sliding_window must be false" }).optional(),
  rope_scaling: z.null({ error: "rope_scaling is not supported" }).optional(),
  rope_parameters: z
    .looseObject({
      rope_type: z.literal("default", { error: "only rope_type default is supported" }).optional(),
      rope_theta: z.number().optional(),
      partial_rotary_factor: z.literal(1, { error: "partial_rotary_factor must be 1" }).optional(),
    })
    .nullable()
    .optional(),
  quantization_config: z.null({ error: "quantised weights are not supported" }).optional(),
});
/** transformers' defaults where a config names no rotary base and does not say whether the head is tied. */
const DEFAULTS = { rope_theta: 10_000, tie_word_embeddings: false };

/** @throws {CorruptFileError} naming the file and what is wrong with it. */
export async function readCheckpoint(folder: string): Promise<Checkpoint> {
  const config = await readModelConfig(folder);
  const tokenizer = await Tokenizer.load(folder);
  if (tokenizer.size > config.vocab_size) {
    throw new CorruptFileError({
      message: `${folder}: the tokenizer has ${tokenizer.size} tokens, the model ${config.vocab_size}`,
      value: tokenizer.size,
      expected: `at most ${config.vocab_size}`,
      remedy: "tokenizer and weights are of different checkpoints; copy the folder again",
    });
  }
  return { config, tokenizer, parameters: await readParameters(folder, config) };
}

export async function readModelConfig(folder: string): Promise<Qwen3Config> {
  const path = join(folder, CONFIG);
  if (!existsSync(path)) {
    throw new CorruptFileError({
      message: existsSync(folder) ? `${folder} holds no ${CONFIG}` : `${folder}: no such checkpoint folder`,
      value: folder,
      expected: "a Hugging Face folder with config.json, tokenizer.json and model.safetensors",
      remedy: "check the path, or make a base with `envwright pretrain`",
    });
  }
  const text = await readFile(path, "utf8");
  const { model_type } = parseJsonWith(z.looseObject({ model_type: z.unknown() }), text, path, CorruptFileError);
  if (model_type !== "qwen3") {
    throw new CorruptFileError({
      message: `${path}: model_type is ${JSON.stringify(model_type)}`,
      value: model_type,
      expected: '"qwen3"',
      remedy: "the embedded engine runs Qwen3 decoders; serve others through an endpoint",
    });
  }
  const head = parseJsonWith(headSchema, text, path, CorruptFileError);
  const known = Object.fromEntries(
    Object.keys(qwen3ConfigSchema.shape).flatMap((key) => (head[key] === undefined ? [] : [[key, head[key]]])),
  );
  // transformers 5 writes the rotary base inside rope_parameters, and believes that one first.
  const rope = head.rope_parameters?.rope_theta;
  const nested = rope === undefined ? {} : { rope_theta: rope };
  return parseWith(qwen3ConfigSchema, { ...DEFAULTS, ...known, ...nested }, path, CorruptFileError);
}

/** The weights of a folder whose config is known, in the order of `parameterLayout`. @throws {CorruptFileError} naming the tensor. */
export async function readParameters(folder: string, config: Qwen3Config): Promise<Float32Array> {
  const path = join(folder, WEIGHTS);
  const tensors = await readSafetensors(path);
  const { specs, total } = parameterLayout(config);
  const parameters = new Float32Array(total);
  for (const { name, shape, offset } of specs) {
    const tensor = tensors.get(name);
    if (tensor === undefined || tensor.shape.join() !== shape.join()) {
      throw new CorruptFileError({
        message: tensor === undefined ? `${path}: tensor "${name}" is missing` : `${path}: tensor "${name}" has shape [${tensor.shape}]`,
        value: tensor?.shape,
        expected: `shape [${shape}], as ${CONFIG} implies`,
        remedy: "weights and config are of different models; copy the checkpoint again",
      });
    }
    parameters.set(tensor.data, offset);
    tensors.delete(name);
  }
  checkTiedHead(path, tensors.get("lm_head.weight"), parameters.subarray(0, specs[0]!.size));
  tensors.delete("lm_head.weight");
  const [left] = tensors.keys();
  if (left !== undefined) {
    throw new CorruptFileError({
      message: `${path}: unexpected tensor "${left}"`,
      value: left,
      expected: `the ${specs.length} tensors of ${CONFIG}`,
      remedy: "adapters and biased or untied models are not supported by the embedded engine",
    });
  }
  const broken = parameters.findIndex((x) => !Number.isFinite(x));
  if (broken >= 0) {
    const spec = specs.find((s) => broken < s.offset + s.size)!;
    throw new CorruptFileError({
      message: `${path}: tensor "${spec.name}" holds ${parameters[broken]}`,
      value: parameters[broken],
      expected: "finite weights",
      remedy: "training diverged or the file is damaged; go back to an earlier checkpoint",
    });
  }
  return parameters;
}

/** Some writers keep a copy of the tied head: it must be the embedding. */
function checkTiedHead(path: string, head: Tensor | undefined, embedding: Float32Array): void {
  if (head === undefined) return;
  if (head.data.length === embedding.length && head.data.every((x, i) => Object.is(x, embedding[i]))) return;
  throw new CorruptFileError({
    message: `${path}: tensor "lm_head.weight" is not the embedding`,
    value: head.shape,
    expected: "tied embeddings, as config.json says",
    remedy: "models with a head of their own are not supported by the embedded engine",
  });
}

/**
 * Writes the folder beside its place, syncs it and renames it; an older folder of that name is replaced.
 * @param extra writes further files (trainer state) into the same folder before it appears.
 */
export async function writeCheckpoint(folder: string, checkpoint: Checkpoint, extra?: (folder: string) => Promise<void>): Promise<void> {
  const { config, parameters, tokenizer } = checkpoint;
  const temporary = besides(folder);
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  try {
    const model = {
      architectures: ["Qwen3ForCausalLM"],
      model_type: "qwen3",
      ...config,
      attention_bias: false,
      attention_dropout: 0,
      hidden_act: "silu",
      rope_parameters: { rope_type: "default", rope_theta: config.rope_theta },
      bos_token_id: null,
      eos_token_id: tokenizer.eosId,
      pad_token_id: tokenizer.eosId,
      initializer_range: 0.02,
      torch_dtype: "float32",
      use_cache: true,
    };
    const generation = { do_sample: true, eos_token_id: tokenizer.eosId, pad_token_id: tokenizer.eosId };
    await writeFile(join(temporary, CONFIG), `${JSON.stringify(model, null, 2)}\n`);
    await writeFile(join(temporary, "generation_config.json"), `${JSON.stringify(generation, null, 2)}\n`);
    await tokenizer.save(temporary);
    const tensors = new Map<string, Tensor>();
    for (const { name, shape, offset, size } of parameterLayout(config).specs) {
      tensors.set(name, { shape: [...shape], data: parameters.subarray(offset, offset + size) });
    }
    await writeSafetensors(join(temporary, WEIGHTS), tensors);
    await extra?.(temporary);
    for (const name of await readdir(temporary)) await sync(join(temporary, name));
    await replace(folder, temporary);
    await sync(dirname(folder));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** A folder cannot be renamed over a full one: the older one steps aside first, and back when the newer cannot take its place. */
async function replace(folder: string, by: string): Promise<void> {
  if (!existsSync(folder)) return rename(by, folder);
  const aside = besides(folder);
  await rename(folder, aside);
  try {
    await rename(by, folder);
  } catch (error) {
    await rename(aside, folder);
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}

let count = 0;

/** A name in the same folder that resuming a run knows for a leftover. */
function besides(folder: string): string {
  return join(dirname(folder), `.tmp-${process.pid}-${count++}-${basename(folder)}`);
}

/** SHA-256 over config, tokenizer and weights: what a checkpoint is, apart from where it lies and what lies beside it. @throws {CorruptFileError} */
export async function checkpointHash(folder: string): Promise<string> {
  const digest = createHash("sha256");
  for (const name of [CONFIG, "tokenizer.json", ...(await weightFiles(folder))]) {
    digest.update(name);
    try {
      // In pieces: the weights of a large model are more than a buffer holds.
      for await (const piece of createReadStream(join(folder, name)) as AsyncIterable<Buffer>) digest.update(piece);
    } catch (cause) {
      throw new CorruptFileError({
        message: `${join(folder, name)} cannot be read: ${(cause as Error).message}`,
        value: folder,
        expected: "a checkpoint folder",
        remedy: "check the path, or make a base with `envwright pretrain`",
        cause,
      });
    }
  }
  return digest.digest("hex");
}

/** One file, or the index and the shards of a large model. */
async function weightFiles(folder: string): Promise<string[]> {
  const index = `${WEIGHTS}.index.json`;
  const path = join(folder, index);
  if (existsSync(join(folder, WEIGHTS)) || !existsSync(path)) return [WEIGHTS];
  const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) });
  const { weight_map } = parseJsonWith(indexSchema, await readFile(path, "utf8"), path, CorruptFileError);
  return [index, ...[...new Set(Object.values(weight_map))].sort()];
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
