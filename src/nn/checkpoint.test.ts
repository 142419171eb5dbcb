import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { folderBytes } from "../../test/folder-bytes.js";
import { CorruptFileError, Seed } from "../core/index.js";
import { type Checkpoint, checkpointHash, readCheckpoint, readModelConfig, writeCheckpoint } from "./checkpoint.js";
import { initialParameters, parameterLayout, parseQwen3Config } from "./qwen3-config.js";
import { readSafetensors, type Tensor, writeSafetensors } from "./safetensors.js";
import { Tokenizer } from "./tokenizer.js";

const fixtures = fileURLToPath(new URL("./fixtures", import.meta.url));
const saved = join(fixtures, "saved-by-transformers");

const tokenizer = Tokenizer.create(["<a>", "<b>"]);
const config = parseQwen3Config({
  vocab_size: tokenizer.size,
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 4,
  max_position_embeddings: 32,
  rms_norm_eps: 1e-5,
  rope_theta: 12_345,
});
const checkpoint: Checkpoint = { config, tokenizer, parameters: initialParameters(config, Seed.root("checkpoint")) };

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "checkpoint-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a folder saved by transformers", () => {
  it("is read: config, tokenizer, and every weight at its place", async () => {
    const read = await readCheckpoint(saved);
    expect(read.config).toEqual(
      parseQwen3Config({
        vocab_size: 281,
        hidden_size: 8,
        intermediate_size: 12,
        num_hidden_layers: 1,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 4,
        max_position_embeddings: 128,
        rms_norm_eps: 1e-6,
        rope_theta: 50_000,
      }),
    );
    expect(read.tokenizer.size).toBe(281);
    const tensors = await readSafetensors(join(saved, "model.safetensors"));
    for (const { name, offset, size } of parameterLayout(read.config).specs) {
      expect(read.parameters.subarray(offset, offset + size), name).toEqual(tensors.get(name)!.data);
    }
  });

  it("written again and read again holds the same numbers", async () => {
    const read = await readCheckpoint(saved);
    await writeCheckpoint(at("again"), read);
    const again = await readCheckpoint(at("again"));
    expect(again.config).toEqual(read.config);
    expect(again.parameters).toEqual(read.parameters);
  });
});

describe("a checkpoint", () => {
  it("comes back bit for bit", async () => {
    await writeCheckpoint(at("whole"), checkpoint);
    const read = await readCheckpoint(at("whole"));
    expect(read.config).toEqual(config);
    expect(Buffer.from(read.parameters.buffer).equals(Buffer.from(checkpoint.parameters.buffer))).toBe(true);
    expect(read.tokenizer.wordId("<b>")).toBe(tokenizer.wordId("<b>"));
  });

  it("written twice is the same bytes, with the same hash wherever it lies", async () => {
    await writeCheckpoint(at("one"), checkpoint);
    await writeCheckpoint(at("two"), checkpoint, (into) => writeFile(join(into, "trainer.json"), "{}"));
    expect(folderBytes(at("two"), ["trainer.json"])).toEqual(folderBytes(at("one")));
    const hash = await checkpointHash(at("one"));
    expect(await checkpointHash(at("two"))).toBe(hash);
    const parameters = checkpoint.parameters.slice();
    parameters[5] = parameters[5]! + 1e-6;
    await writeCheckpoint(at("two"), { ...checkpoint, parameters });
    expect(await checkpointHash(at("two"))).not.toBe(hash);
    await expect(checkpointHash(at("nowhere"))).rejects.toThrow(CorruptFileError);
  });

  it("of a large model is hashed over all of its shards", async () => {
    await writeCheckpoint(at("shards"), checkpoint);
    await rename(join(at("shards"), "model.safetensors"), join(at("shards"), "model-00001-of-00002.safetensors"));
    await writeFile(join(at("shards"), "model-00002-of-00002.safetensors"), "more");
    const weight_map = { a: "model-00002-of-00002.safetensors", b: "model-00001-of-00002.safetensors" };
    await writeFile(join(at("shards"), "model.safetensors.index.json"), JSON.stringify({ weight_map }));
    const hash = await checkpointHash(at("shards"));
    await writeFile(join(at("shards"), "model-00002-of-00002.safetensors"), "else");
    expect(await checkpointHash(at("shards"))).not.toBe(hash);
    await rm(join(at("shards"), "model-00001-of-00002.safetensors"));
    await expect(checkpointHash(at("shards"))).rejects.toThrow(/model-00001-of-00002/);
  });

  it("replaces an older one whole, and leaves nothing beside it", async () => {
    const place = join(at("parent"), "checkpoint");
    await mkdir(place, { recursive: true });
    await writeFile(join(place, "stale.bin"), "old");
    await writeCheckpoint(place, checkpoint);
    expect(await readdir(place)).not.toContain("stale.bin");
    expect(await readdir(at("parent"))).toEqual(["checkpoint"]);
  });

  it("that cannot be finished leaves the older one as it was, and nothing beside it", async () => {
    const place = join(at("kept"), "checkpoint");
    await mkdir(at("kept"));
    await writeCheckpoint(place, checkpoint);
    const before = folderBytes(place);
    const failing = writeCheckpoint(place, { ...checkpoint, parameters: new Float32Array(checkpoint.parameters.length) }, async () => {
      throw new Error("disk is full");
    });
    await expect(failing).rejects.toThrow("disk is full");
    expect(folderBytes(place)).toEqual(before);
    expect(await readdir(at("kept"))).toEqual(["checkpoint"]);
  });
});

describe("a damaged checkpoint is refused with what is wrong and what to do", () => {
  type Json = Record<string, unknown>;
  let whole: string;
  let next = 0;
  beforeAll(async () => {
    whole = at("sound");
    await writeCheckpoint(whole, checkpoint);
  });

  const refused = async (path: string, message: RegExp) => {
    const error = await readCheckpoint(path).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CorruptFileError);
    expect((error as CorruptFileError).message).toMatch(message);
    expect((error as CorruptFileError).message).toContain(path);
    expect((error as CorruptFileError).remedy).toBeTruthy();
  };
  const copy = async () => {
    const path = at(`damaged-${next++}`);
    await cp(whole, path, { recursive: true });
    return path;
  };
  const NORM = "model.layers.1.self_attn.q_norm.weight";
  const EMBEDDING = "model.embed_tokens.weight";

  it.each<[string, (tensors: Map<string, Tensor>) => unknown, RegExp]>([
    ["a missing tensor", (t) => t.delete(NORM), /"model\.layers\.1\.self_attn\.q_norm\.weight" is missing/],
    ["a tensor too many", (t) => t.set("model.layers.2.extra", { shape: [1], data: Float32Array.of(1) }), /unexpected.*layers\.2\.extra/],
    ["a bias", (t) => t.set("model.layers.0.self_attn.q_proj.bias", { shape: [8], data: new Float32Array(8) }), /q_proj\.bias/],
    ["a tensor of another shape", (t) => t.set(NORM, { shape: [2, 2], data: new Float32Array(4) }), /q_norm\.weight" has shape \[2,2\]/],
    ["NaN", (t) => t.get(NORM)!.data.fill(Number.NaN, 2, 3), /q_norm\.weight" holds NaN/],
    ["infinity", (t) => t.get(EMBEDDING)!.data.fill(Number.NEGATIVE_INFINITY, 0, 1), /embed_tokens\.weight" holds -Infinity/],
    [
      "a head of its own",
      (t) => t.set("lm_head.weight", { shape: [...t.get(EMBEDDING)!.shape], data: t.get(EMBEDDING)!.data.map((x) => x + 1) }),
      /lm_head/,
    ],
  ])("weights with %s", async (_, change, message) => {
    const path = await copy();
    const tensors = await readSafetensors(join(path, "model.safetensors"));
    change(tensors);
    await writeSafetensors(join(path, "model.safetensors"), tensors);
    await refused(path, message);
  });

  it("but a copy of the tied head is no damage", async () => {
    const path = await copy();
    const tensors = await readSafetensors(join(path, "model.safetensors"));
    tensors.set("lm_head.weight", tensors.get(EMBEDDING)!);
    await writeSafetensors(join(path, "model.safetensors"), tensors);
    expect((await readCheckpoint(path)).parameters).toEqual(checkpoint.parameters);
  });

  it.each<[string, Json, RegExp]>([
    ["of another architecture", { model_type: "llama" }, /model_type is "llama"/],
    ["without an architecture", { model_type: undefined }, /model_type/],
    ["with another activation", { hidden_act: "gelu" }, /hidden_act/],
    ["with biases", { attention_bias: true }, /attention_bias/],
    ["with a sliding window", { use_sliding_window: true }, /use_sliding_window/],
    ["with scaled rotary embeddings", { rope_parameters: { rope_type: "yarn", rope_theta: 12_345, factor: 4 } }, /rope_type/],
    ["with an untied head", { tie_word_embeddings: false }, /tie_word_embeddings/],
    ["that does not say that the head is tied, which means untied", { tie_word_embeddings: undefined }, /tie_word_embeddings/],
    ["without a size", { hidden_size: undefined }, /hidden_size/],
    ["of a wider model", { intermediate_size: 13 }, /gate_proj\.weight" has shape \[12,8\]/],
    ["of a smaller vocabulary than the tokenizer's", { vocab_size: 200 }, /tokenizer has 259 tokens, the model 200/],
  ])("a config %s", async (_, change, message) => {
    const path = await copy();
    const json: Json = JSON.parse(await readFile(join(path, "config.json"), "utf8"));
    await writeFile(join(path, "config.json"), JSON.stringify({ ...json, ...change }));
    await refused(path, message);
  });

  it("a config without a rotary base means 10,000, and rope_parameters are believed before rope_theta", async () => {
    const path = await copy();
    const json: Json = JSON.parse(await readFile(join(path, "config.json"), "utf8"));
    const theta = async (change: Json) => {
      await writeFile(join(path, "config.json"), JSON.stringify({ ...json, ...change }));
      return (await readModelConfig(path)).rope_theta;
    };
    expect(await theta({ rope_theta: undefined, rope_parameters: undefined })).toBe(10_000);
    expect(await theta({ rope_theta: 1, rope_parameters: { rope_type: "default", rope_theta: 7_000 } })).toBe(7_000);
    expect(await theta({ rope_theta: 5_000, rope_parameters: undefined })).toBe(5_000);
  });

  it.each(["config.json", "tokenizer.json", "model.safetensors"])("a folder without %s", async (name) => {
    const path = await copy();
    await rm(join(path, name));
    await refused(path, new RegExp(name.replace(".", "\\.")));
  });

  it.each(["config.json", "tokenizer.json", "model.safetensors"])("a folder whose %s is cut off", async (name) => {
    const path = await copy();
    const bytes = await readFile(join(path, name));
    await writeFile(join(path, name), bytes.subarray(0, Math.floor(bytes.length / 2)));
    await refused(path, new RegExp(name.replace(".", "\\.")));
  });

  it("a folder that is not there", async () => {
    await refused(at("nowhere"), /no such checkpoint folder/);
  });
});
