/**
 * A checkpoint that we write, opened by transformers: the same token ids, the same logits. Needs a Python with torch and transformers
 * (docs/scale-out.md, or python/requirements-fixtures.txt), named by ENVWRIGHT_PYTHON or in .venv; skipped without one.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { Seed } from "../src/core/index.js";
import { familyByName } from "../src/environments/index.js";
import { Engine, initialParameters, parameterLayout, parseQwen3Config, Tokenizer, writeCheckpoint } from "../src/nn/index.js";
import { because, findPython } from "./pythons.js";

const root = fileURLToPath(new URL("..", import.meta.url));

const found = findPython(["torch", "transformers"]);

interface Answer {
  logits: number[][][];
  ids: number[][];
  texts: string[];
  eos: number[];
  architecture: string;
}

describe.skipIf(found.python === undefined)(`transformers${because(found)}`, () => {
  it("opens a checkpoint of ours and computes the same ids and logits", async () => {
    const family = familyByName("mapf-frozenlake");
    const words = family.compactWords.map(({ word }) => word);
    const tokenizer = Tokenizer.create(words);
    const config = parseQwen3Config({
      vocab_size: tokenizer.size,
      hidden_size: 64,
      intermediate_size: 128,
      num_hidden_layers: 3,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 32,
      max_position_embeddings: 256,
    });
    const parameters = initialParameters(config, Seed.root("parity"));
    // Far from uniform, and norms that matter.
    const random = Seed.root("parity").child("stretch").at(0);
    for (const { shape, offset, size } of parameterLayout(config).specs) {
      for (let i = offset; i < offset + size; i++) parameters[i] = parameters[i]! * (shape.length === 1 ? 0.5 + random.float() : 8);
    }
    const sequences = [1, 7, 40].map((length) => Array.from({ length }, () => random.below(config.vocab_size)));
    const texts = [
      "",
      words.join(""),
      `${words[0]} and ${words.at(-1)}`,
      "Straße 日本 🙂\n\n  x\ufeff",
      "<|endoftext|>",
      words[3]!.slice(0, -1),
    ];

    const folder = await mkdtemp(join(tmpdir(), "parity-"));
    const engine = await Engine.start({ config, workers: 1 });
    try {
      await writeCheckpoint(join(folder, "checkpoint"), { config, parameters, tokenizer });
      await writeFile(join(folder, "questions.json"), JSON.stringify({ sequences, texts }));
      const { stdout } = await promisify(execFile)(
        found.python!,
        [join(root, "python/check_checkpoint.py"), join(folder, "checkpoint"), join(folder, "questions.json")],
        { maxBuffer: 2 ** 28 },
      );
      const answer = JSON.parse(stdout) as Answer;
      expect(answer.architecture).toBe("Qwen3ForCausalLM");
      expect(answer.eos).toEqual([tokenizer.eosId, tokenizer.eosId, tokenizer.eosId]);
      expect(answer.ids).toEqual(texts.map((text) => [...tokenizer.encode(text)]));
      expect(answer.texts).toEqual(texts);

      await engine.setParameters(parameters);
      let worst = 0;
      for (const [s, tokens] of sequences.entries()) {
        const t = tokens.length - 1;
        const rows = await engine.logProbs(
          Array.from({ length: config.vocab_size }, (_, token) => ({
            tokens: Int32Array.of(...tokens, token),
            promptLength: t + 1,
            weights: Float32Array.of(0),
          })),
        );
        // The engine gives log-probabilities: logits up to one number a position, which the largest logit fixes.
        const logits = answer.logits[s]![t]!;
        const top = logits.indexOf(Math.max(...logits));
        expect(Math.max(...logits) - Math.min(...logits)).toBeGreaterThan(2);
        rows.forEach((row, token) => {
          worst = Math.max(worst, Math.abs(row[0]! - rows[top]![0]! - (logits[token]! - logits[top]!)));
        });
        // And inside of the sequence, at every position.
        const [inside] = await engine.logProbs([
          { tokens: Int32Array.from(tokens), promptLength: 1, weights: new Float32Array(Math.max(0, t)) },
        ]);
        inside!.forEach((logProb, i) => {
          const row = answer.logits[s]![i]!;
          const peak = Math.max(...row);
          const logSum = peak + Math.log(row.reduce((total, x) => total + Math.exp(x - peak), 0));
          worst = Math.max(worst, Math.abs(logProb - (row[tokens[i + 1]!]! - logSum)));
        });
      }
      console.log(`largest difference of logits: ${worst.toExponential(2)}`);
      expect(worst).toBeLessThan(1e-4);
    } finally {
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
