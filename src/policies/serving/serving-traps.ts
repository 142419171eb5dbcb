/** What of a recipe's `serving` section is known to go wrong, seen before anything is started: told by `--dry-run`, refused by a run. */
import type { Recipe } from "../../core/index.js";
import { staysUp } from "./server-command.js";

/** Tokens of an engineer's chat context where the recipe does not say. */
const CONTEXT_TOKENS = 8192;
/** What is ours on the server's command line. */
const OURS = /^--?(model|model-path|served-model-name|host|port|generation-config|sampling-defaults)(=|$)/;

/** Empty: nothing is known to be wrong, or nothing is served. */
export function servingTraps(recipe: Recipe): string[] {
  const { serving } = recipe;
  if (serving === undefined) return [];
  const traps: [boolean, string][] = [
    [
      serving.host !== "127.0.0.1" && serving.host !== "localhost" && serving.host !== "::1",
      `serving.host is ${serving.host}: the server has no key, and whoever reaches that address can use it`,
    ],
    [
      serving.port > 0 && serving.port < 1024,
      `serving.port ${serving.port} is for programs of the system: name one from 1024, or 0 for a free one`,
    ],
    [
      serving.kind === "command" && !serving.command.some((word) => word.includes("{name}")),
      `serving.command has no {name}: /v1/models has to name the model "${serving.served_model_name}" all the same`,
    ],
  ];
  if (serving.kind !== "command") traps.push(...acceleratedTraps(recipe, serving));
  return traps.filter(([sprung]) => sprung).map(([, trap]) => trap);
}

type Accelerated = Exclude<NonNullable<Recipe["serving"]>, { kind: "command" }>;

function acceleratedTraps(recipe: Recipe, serving: Accelerated): [boolean, string][] {
  const { trainer, validation, engineer } = recipe;
  const gpus = serving.tensor_parallel * serving.data_parallel;
  const ours = serving.extra_args.filter((argument) => OURS.test(argument));
  const limit = serving.max_model_len ?? Number.POSITIVE_INFINITY;
  const prompt = trainer.kind === "verl" ? trainer.max_prompt_tokens : 0;
  const evaluated = prompt + validation.max_tokens;
  const proposed = (engineer.context_tokens ?? CONTEXT_TOKENS) + engineer.max_tokens;
  const isAsked = engineer.name === "self" || engineer.name === "base";
  return [
    [
      recipe.rendering !== "chat" && !serving.extra_args.some((argument) => /^--chat-template(=|$)/.test(argument)),
      `rendering is ${recipe.rendering}: ${serving.kind} puts the chat template around a prompt, which the compact rendering does not have; name one that adds nothing as --chat-template in serving.extra_args`,
    ],
    [ours.length > 0, `serving.extra_args sets ${ours.join(", ")}, which the run sets itself`],
    [limit < evaluated, `serving.max_model_len (${limit}) is less than a prompt and its answer in validation (${evaluated} tokens)`],
    [
      isAsked && limit < proposed,
      `serving.max_model_len (${limit}) is less than the engineer's context and its answer (${proposed} tokens: engineer.context_tokens, 8192 unless given, and engineer.max_tokens)`,
    ],
    [
      trainer.kind === "verl" && gpus > trainer.gpus_per_node,
      `serving takes ${gpus} GPUs (tensor_parallel × data_parallel) of one machine, which has ${trainer.kind === "verl" ? trainer.gpus_per_node : ""}`,
    ],
    [
      trainer.kind === "verl" && serving.thinking !== undefined && serving.thinking !== trainer.thinking,
      `serving.thinking is ${serving.thinking} and trainer.thinking ${trainer.kind === "verl" ? trainer.thinking : ""}: the policy is evaluated otherwise than it is trained`,
    ],
    [
      staysUp(serving) && !areApart(visibleGpus(recipe.trainer), serving.environment.CUDA_VISIBLE_DEVICES),
      "serving.weights is update: the server stays up while the trainer trains, and nothing says that their GPUs are apart; name them as CUDA_VISIBLE_DEVICES in serving.environment and trainer.environment, or restart it",
    ],
  ];
}

function visibleGpus(trainer: Recipe["trainer"]): string | undefined {
  return trainer.kind === "embedded" ? "" : trainer.environment.CUDA_VISIBLE_DEVICES;
}

/** Whether both are given and have no GPU in common. */
function areApart(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  const gpus = new Set(one.split(",").map((gpu) => gpu.trim()));
  return !other.split(",").some((gpu) => gpus.has(gpu.trim()));
}
