/**
 * Training and sampling speed of the embedded engine against PyTorch eager: same model, batch, thread count and machine, alternating
 * in one run, medians of rounds. Both sides start from the same parameters and must report the same losses, or the run fails.
 *
 * Usage: npm run bench:trainer [-- --rounds 7 --threads 2]. The peer's Python is ENVWRIGHT_PYTHON or .venv/bin/python, with torch.
 */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Seed } from "../src/core/index.js";
import { AdamW, Engine, graphParameters, initialParameters, parseQwen3Config, type Qwen3Config } from "../src/nn/index.js";

interface Model {
  name: string;
  config: Qwen3Config;
  batch: number;
  length: number;
  samples: number;
}

const shape = { num_hidden_layers: 4, head_dim: 32, max_position_embeddings: 512 };
const models: Model[] = [
  {
    name: "tiny recipe (d 64, vocabulary 768, 32 × 48)",
    config: parseQwen3Config({
      ...shape,
      vocab_size: 768,
      hidden_size: 64,
      intermediate_size: 128,
      num_attention_heads: 2,
      num_key_value_heads: 2,
    }),
    batch: 32,
    length: 48,
    samples: 128,
  },
  {
    name: "design (d 192, vocabulary 128, 32 × 192)",
    config: parseQwen3Config({
      ...shape,
      vocab_size: 128,
      hidden_size: 192,
      intermediate_size: 512,
      num_attention_heads: 6,
      num_key_value_heads: 6,
    }),
    batch: 32,
    length: 192,
    samples: 128,
  },
];
const LEARNING_RATE = 1e-3;
const SECONDS_A_ROUND = 1;

/** One Python process that answers one JSON line with another. */
class Peer {
  private readonly answers: AsyncIterator<string>;
  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    this.answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  static start(python: string): Peer {
    const child = spawn(python, [fileURLToPath(new URL("./trainer_peer.py", import.meta.url))]);
    child.stderr.pipe(process.stderr);
    return new Peer(child);
  }

  async ask<T>(command: object): Promise<T> {
    this.child.stdin.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.answers.next();
    if (done) throw new Error("the PyTorch peer ended before it answered");
    return JSON.parse(value) as T;
  }

  stop(): void {
    this.child.stdin.end();
  }
}

function findPython(): string | undefined {
  const candidates = [process.env.ENVWRIGHT_PYTHON, ".venv/bin/python"].filter((p): p is string => p !== undefined && existsSync(p));
  return candidates.find((python) => spawnSync(python, ["-c", "import torch, numpy"]).status === 0);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

async function compare(model: Model, peer: Peer, rounds: number, threads: number): Promise<void> {
  const { config, batch, length, samples } = model;
  const prompt = length / 2;
  let parameters = initialParameters(config, Seed.root("bench"));
  const folder = await mkdtemp(join(tmpdir(), "bench-trainer-"));
  const file = join(folder, "parameters.bin");
  await writeFile(file, new Uint8Array(parameters.buffer));
  const versions = await peer.ask<{ torch: string; threads: number }>({
    do: "load",
    threads,
    parameters: file,
    config,
    specs: graphParameters(config),
    lr: LEARNING_RATE,
  });
  await rm(folder, { recursive: true });

  const seed = Seed.root("bench tokens");
  const rows = (count: number, size: number) =>
    Array.from({ length: count }, (_, i) => {
      const random = seed.at(i);
      return Int32Array.from({ length: size }, () => random.below(config.vocab_size));
    });
  const tokens = rows(batch, length);
  const weight = 1 / (batch * (length - prompt));
  const sequences = tokens.map((t) => ({ tokens: t, promptLength: prompt, weights: new Float32Array(length - prompt).fill(weight) }));
  const prompts = rows(samples, prompt);

  const engine = await Engine.start({ config, workers: threads });
  const optimiser = new AdamW(config, { lr: LEARNING_RATE });
  const trainOurs = async (steps: number) => {
    const losses: number[] = [];
    const started = performance.now();
    for (let i = 0; i < steps; i++) {
      await engine.setParameters(parameters);
      const { loss, gradient } = await engine.gradient(sequences, { kind: "nll" });
      parameters = (await optimiser.step(parameters, gradient, { scale: 1, maxGradNorm: 1 })).parameters;
      losses.push(loss);
    }
    return { seconds: (performance.now() - started) / 1000, losses };
  };
  const trainTheirs = (steps: number) =>
    peer.ask<{ seconds: number; losses: number[] }>({ do: "train", tokens: tokens.map((t) => [...t]), prompt, steps });
  let draw = 0;
  const sampleOurs = async () => {
    const started = performance.now();
    await engine.sample(
      prompts.map((p) => ({ prompt: p, seed: "bench", index: draw++, maxNewTokens: length - prompt, temperature: 1, stopTokens: [] })),
    );
    return { seconds: (performance.now() - started) / 1000 };
  };
  const sampleTheirs = () => peer.ask<{ seconds: number }>({ do: "sample", prompts: prompts.map((p) => [...p]), new: length - prompt });

  // Warm-up, which is also the proof that both do the same work.
  const [ours, theirs] = [await trainOurs(4), await trainTheirs(4)];
  ours.losses.forEach((loss, i) => {
    if (Math.abs(loss - theirs.losses[i]!) > 1e-3) throw new Error(`step ${i}: our loss is ${loss}, PyTorch's ${theirs.losses[i]}`);
  });
  await sampleOurs();
  await sampleTheirs();

  const steps = Math.max(1, Math.round((SECONDS_A_ROUND * 4) / Math.max(ours.seconds, theirs.seconds)));
  const seconds = { trainOurs: [] as number[], trainTheirs: [] as number[], sampleOurs: [] as number[], sampleTheirs: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    seconds.trainOurs.push((await trainOurs(steps)).seconds / steps);
    seconds.trainTheirs.push((await trainTheirs(steps)).seconds / steps);
    seconds.sampleOurs.push((await sampleOurs()).seconds);
    seconds.sampleTheirs.push((await sampleTheirs()).seconds);
  }
  await engine.close();

  console.log(`\n${model.name}; ${threads} threads, PyTorch ${versions.torch}, ${rounds} rounds`);
  const line = (what: string, count: number, a: readonly number[], b: readonly number[]) => {
    const ratios = a.map((x, i) => b[i]! / x).sort((x, y) => x - y);
    const speed = (values: readonly number[]) => Math.round(count / median(values)).toLocaleString("en");
    console.log(
      `  ${what.padEnd(9)} ours ${speed(a).padStart(8)} tokens/s   PyTorch ${speed(b).padStart(8)} tokens/s   ` +
        `ratio ${median(ratios).toFixed(2)} (${ratios[0]!.toFixed(2)}–${ratios.at(-1)!.toFixed(2)})   ours ${(median(a) * 1000).toFixed(1)} ms`,
    );
  };
  line("training", batch * length, seconds.trainOurs, seconds.trainTheirs);
  line("sampling", samples * (length - prompt), seconds.sampleOurs, seconds.sampleTheirs);
}

const { values } = parseArgs({ options: { rounds: { type: "string", default: "7" }, threads: { type: "string", default: "2" } } });
const python = findPython();
if (python === undefined) {
  console.error("bench:trainer compares with PyTorch, and no Python with torch and numpy was found.");
  console.error("  remedy: set ENVWRIGHT_PYTHON, or: python3 -m venv .venv && .venv/bin/pip install torch numpy");
  process.exitCode = 2;
} else {
  const peer = Peer.start(python);
  try {
    for (const model of models) await compare(model, peer, Number(values.rounds), Number(values.threads));
  } finally {
    peer.stop();
  }
}
