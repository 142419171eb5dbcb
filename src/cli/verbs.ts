/** The verbs, by name; each is loaded only when it is asked for, so that `--help` loads no engine. */
import type { Verb } from "./define-verb.js";

export interface VerbEntry {
  name: string;
  description: string;
  load: () => Promise<Verb>;
}

/** A verb whose options are its own business: they reach `run` only through its own declaration. */
const entry = (name: string, description: string, load: () => Promise<{ default: unknown }>): VerbEntry => ({
  name,
  description,
  load: async () => (await load()).default as Verb,
});

export const VERBS: readonly VerbEntry[] = [
  entry("run", "Run the closed loop of a recipe, or go on with an interrupted run", () => import("./verbs/run.js")),
  entry("report", "Report runs: rates with intervals, configs, proposals; tables, JSON, figures", () => import("./verbs/report.js")),
  entry("pretrain", "Train a base checkpoint on demonstrations", () => import("./verbs/pretrain.js")),
  entry("generate", "Generate instances under a config", () => import("./verbs/generate.js")),
  entry("solve", "Solve one board to certified optimality", () => import("./verbs/solve.js")),
  entry("draw", "Draw a board or a plan: SVG, animated SVG, PNG or GIF", () => import("./verbs/draw.js")),
  entry("verify", "Judge completions against their instances", () => import("./verbs/verify.js")),
  entry("audit", "Report duplicates within and between sets, under symmetry and agent order", () => import("./verbs/audit.js")),
  entry("export", "Write a set for another trainer: verl, TRL, plain prompts, plain instances", () => import("./verbs/export.js")),
  entry("eval", "Evaluate a policy on a set of instances", () => import("./verbs/eval.js")),
  entry("propose", "Ask an engineer again about a stored stage, without training", () => import("./verbs/propose.js")),
  entry(
    "branch",
    "Train a stored stage on under several proposals at equal tokens: the regret of the one that was taken",
    () => import("./verbs/branch.js"),
  ),
  entry("experiment", "Run a matrix of runs (arms × seeds) and compare them", () => import("./verbs/experiment.js")),
  entry("serve", "Serve a policy as an OpenAI-compatible endpoint, rewards, or an environment", () => import("./verbs/serve.js")),
  entry("ui", "Serve the dashboard: runs as they go on, stages, rollouts, benchmarks", () => import("./verbs/ui.js")),
  entry("sql", "Ask a run's rollouts, instances and training steps in SQL (DuckDB), reading only", () => import("./verbs/sql.js")),
  entry("doctor", "Check that this machine can run everything", () => import("./verbs/doctor.js")),
];
