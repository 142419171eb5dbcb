#!/usr/bin/env node
/**
 * An engine process for tests: reads what TRL's script or verl's command line would be given, samples fixed answers, has them judged by the
 * running reward service, writes metrics as the engine does and copies its starting checkpoint. FAKE_FAULT makes it fail. Asked with `-c`, as
 * a run asks its engine's Python which modules are missing, it lacks none.
 */
import { spawn } from "node:child_process";
import { appendFileSync, cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";

if (process.argv[2] === "-c") {
  console.log("");
  process.exit(0);
}
const fault = process.env.FAKE_FAULT ?? "";
const once = process.env.FAKE_ONCE;
const [, , , module, ...rest] = process.argv;
const job = module === "envwright.train_trl" ? trlJob(rest[0]) : verlJob(rest);
console.log(`fake engine: ${job.steps} steps from ${job.model}`);
if (fault === "crash" && (once === undefined || !existsSync(once))) {
  if (once !== undefined) writeFileSync(once, "");
  await step(0);
  console.error("RuntimeError: CUDA out of memory");
  process.exit(1);
}
if (fault === "child") spawn("sleep", ["600"], { stdio: "inherit" });
for (let s = 0; s < job.steps; s++) {
  await step(s);
  if (fault === "hang" || fault === "child") await new Promise((resolve) => setTimeout(resolve, 600_000));
  await new Promise((resolve) => setTimeout(resolve, 50));
}
if (fault === "empty") process.exit(0);
cpSync(job.model, job.output, { recursive: true, filter: (path) => !path.endsWith("engine_state.json") });

async function step(s) {
  const items = [];
  for (let p = 0; p < job.prompts; p++) {
    const row = job.rows[(s * job.prompts + p) % job.rows.length];
    for (let i = 0; i < job.group; i++)
      items.push({ id: items.length, instance: row, completion: i === 0 ? "<next>" : "nothing", tokens: i + 2 });
  }
  const response = await fetch(`${job.url}/v1/score`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${process.env.ENVWRIGHT_REWARD_TOKEN}` },
    body: JSON.stringify({ items }),
  });
  const { results } = await response.json();
  if (response.status !== 200 || results.some((r) => r.error !== null)) throw new Error(`the service said ${response.status}`);
  const reward = results.reduce((sum, r) => sum + r.score, 0) / results.length;
  const line = JSON.stringify(job.line(s, reward));
  appendFileSync(job.metrics, fault === "nan" ? `${line.replace('"grad_norm":1', '"grad_norm":NaN')}\nnot JSON\n` : `${line}\n`);
  console.log(`step ${s}`);
}

function trlJob(path) {
  const config = JSON.parse(readFileSync(path, "utf8"));
  const { grpo } = config;
  const updates = grpo.logging_steps;
  return {
    model: config.model,
    output: config.output,
    metrics: config.metrics,
    url: config.reward.url,
    rows: lines(config.data).map((row) => row.instance),
    steps: grpo.max_steps / updates,
    group: grpo.num_generations,
    prompts: (grpo.per_device_train_batch_size * grpo.steps_per_generation) / grpo.num_generations,
    line: (s, reward) => ({ step: (s + 1) * updates, reward, grad_norm: 1, step_time: 0.1 }),
  };
}

function verlJob(args) {
  const values = Object.fromEntries(args.map((arg) => arg.split(/=(.*)/s).slice(0, 2)));
  const text = (key) => values[key].replace(/^'(.*)'$/, "$1");
  const steps = Number(values["trainer.total_training_steps"]);
  return {
    model: text("actor_rollout_ref.model.path"),
    output: `${text("trainer.default_local_dir")}/global_step_${steps}/actor/huggingface`,
    metrics: process.env.VERL_FILE_LOGGER_PATH,
    url: text("+reward.custom_reward_function.reward_kwargs.url"),
    rows: lines(text("data.train_files")).map((row) => row.reward_model.ground_truth),
    steps,
    group: Number(values["actor_rollout_ref.rollout.n"]),
    prompts: Number(values["data.train_batch_size"]),
    line: (s, reward) => ({ step: s + 1, data: { "critic/rewards/mean": reward, "actor/grad_norm": 1, "timing_s/step": 3 } }),
  };
}

function lines(path) {
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
