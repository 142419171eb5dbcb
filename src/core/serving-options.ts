/**
 * How a run serves its checkpoints for evaluation and for the engineer's proposals: the recipe's section `serving`. Without it the embedded
 * engine answers, which opens small checkpoints in the compact rendering alone.
 */
import { z } from "zod";

const positive = z.number().positive();
/** A day, in seconds, for one attempt of a request: what is longer is a slip of the pen. */
export const LONGEST_TIMEOUT = 86_400;

/** What every server has. */
const servingShape = {
  served_model_name: z
    .string()
    // No colon: behind one SGLang looks for the name of an adapter.
    .regex(/^[\w./-]+$/, "letters, digits, dots, dashes, slashes")
    .default("policy")
    .describe("Name of the model in requests and in /v1/models, whichever checkpoint is behind it."),
  host: z.string().default("127.0.0.1").describe("Address the server listens on; it has no key."),
  port: z.int().min(0).max(65_535).default(0).describe("0: a free one, chosen at each start."),
  startup_timeout: positive
    .default(900)
    .describe("Seconds until /health and /v1/models have to answer: loading weights and compiling graphs included."),
  retries: z
    .int()
    .nonnegative()
    .default(2)
    .describe("Times it is started again after it died, stopped answering or was not ready in time; answers that are there are kept."),
  max_failed: z
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe(
      "Share of an evaluation's requests that may stay without an answer; above it the run stops, and resumes with this evaluation.",
    ),
  concurrency: z.int().min(1).max(1024).default(64).describe("Requests at once."),
  timeout: positive.max(LONGEST_TIMEOUT).default(600).describe("Seconds for one attempt of a request."),
  top_p: z.number().gt(0).max(1).optional().describe("Nucleus sampling in evaluation and proposals; not sent unless given."),
  extra_body: z.record(z.string(), z.json()).default({}).describe("Further fields of every request, as they stand."),
  environment: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      "Further environment variables of the server. run.json keeps them: a key belongs into the environment of the command itself.",
    ),
};

/** What servers on GPUs have beside that. */
const acceleratedShape = {
  ...servingShape,
  tensor_parallel: z.int().positive().default(1).describe("GPUs that share one copy of the model."),
  data_parallel: z.int().positive().default(1).describe("Copies of the model that share the requests."),
  gpu_memory: z.number().gt(0).max(1).default(0.9).describe("Share of GPU memory that the server takes."),
  max_model_len: z
    .int()
    .positive()
    .optional()
    .describe("Longest prompt and answer together, in tokens; what the checkpoint's config says unless given."),
  thinking: z.boolean().optional().describe("`enable_thinking` of the chat template; not sent unless given."),
  extra_args: z.array(z.string()).default([]).describe("Further arguments, last on the server's command line."),
};

export const vllmServingSchema = z.strictObject({
  kind: z.literal("vllm"),
  ...acceleratedShape,
  command: z.array(z.string()).min(1).default(["vllm", "serve"]).describe("What the model and the options are put behind."),
});

export const sglangServingSchema = z.strictObject({
  kind: z.literal("sglang"),
  ...acceleratedShape,
  command: z.array(z.string()).min(1).default(["python3", "-m", "sglang.launch_server"]),
  weights: z
    .enum(["restart", "update"])
    .default("restart")
    .describe("`update`: the server stays up while the trainer trains, on GPUs of its own, and is given each checkpoint's weights."),
});

export const commandServingSchema = z
  .strictObject({
    kind: z.literal("command"),
    ...servingShape,
    command: z
      .array(z.string())
      .min(1)
      .describe("An OpenAI-compatible server; {model}, {host}, {port} and {name} stand for the checkpoint and where it is asked for."),
  })
  .refine(({ command }) => command.some((word) => word.includes("{model}")), {
    message: "no {model} in it: the server would not be told which checkpoint to serve",
    path: ["command"],
  })
  .refine(({ command, port }) => port !== 0 || command.some((word) => word.includes("{port}")), {
    message: "no {port} in it, and no fixed port: the server would not be told where to listen",
    path: ["command"],
  });

export const servingOptionsSchema = z.discriminatedUnion("kind", [vllmServingSchema, sglangServingSchema, commandServingSchema]);
export type ServingOptions = z.infer<typeof servingOptionsSchema>;
