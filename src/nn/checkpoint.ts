/**
 * Checkpoints: Hugging Face folders (config.json, generation_config.json, tokenizer files, model.safetensors) that transformers, vLLM, TRL
 * and verl open as `Qwen3ForCausalLM`. Written whole or not at all; read back only when every tensor has the name and shape that the
 * config implies.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
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

const headSchema = z.looseObject({ architectures: z.array(z.string()).optional(), model_type: z.string().optional() });

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
  const head = parseJsonWith(headSchema, text, path, CorruptFileError);
  if (head.model_type !== "qwen3") {
    throw new CorruptFileError({
      message: `${path}: model_type is ${JSON.stringify(head.model_type)}`,
      value: head.model_type,
      expected: '"qwen3"',
      remedy: "the embedded engine runs Qwen3 decoders; serve others through an endpoint",
    });
  }
  // transformers 5 writes the rotary base inside rope_parameters only.
  const rope = (head.rope_parameters as { rope_theta?: unknown } | undefined)?.rope_theta;
  const known = Object.fromEntries(
    Object.keys(qwen3ConfigSchema.shape).flatMap((key) => (head[key] === undefined ? [] : [[key, head[key]]])),
  );
  return parseWith(qwen3ConfigSchema, rope === undefined ? known : { rope_theta: rope, ...known }, path, CorruptFileError);
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
  tensors.delete("lm_head.weight"); // The tied head, which some writers keep.
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
    throw new CorruptFileError({ message: `${path}: tensor "${spec.name}" holds ${parameters[broken]}`, expected: "finite weights" });
  }
  return parameters;
}

/**
 * Writes the folder beside its place, syncs it and renames it; an older folder of that name is replaced.
 * @param extra writes further files (trainer state) into the same folder before it appears.
 */
export async function writeCheckpoint(folder: string, checkpoint: Checkpoint, extra?: (folder: string) => Promise<void>): Promise<void> {
  const { config, parameters, tokenizer } = checkpoint;
  const temporary = join(dirname(folder), `.tmp-${process.pid}-0-${basename(folder)}`);
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
    await rm(folder, { recursive: true, force: true });
    await rename(temporary, folder);
    await sync(dirname(folder));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** SHA-256 over weights and config: what a checkpoint is, apart from where it lies and what lies beside it. */
export async function checkpointHash(folder: string): Promise<string> {
  const digest = createHash("sha256");
  for (const name of [CONFIG, "tokenizer.json", WEIGHTS]) digest.update(name).update(await readFile(join(folder, name)));
  return digest.digest("hex");
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
