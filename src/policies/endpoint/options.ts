/**
 * A policy file: a preset, a model, and whatever is to differ from the preset. It names the variable that holds the key and never holds
 * the key itself, so it can be kept beside the results. Settings of the file win over those of a request: they describe the model.
 */
import { z } from "zod";
import { ConfigError, LONGEST_TIMEOUT, parseWith } from "../../core/index.js";
import { ENDPOINT_NAMES, ENDPOINT_PRESETS, type EndpointPreset } from "./presets.js";

const positive = z.number().positive();

export const policyFileSchema = z.strictObject({
  endpoint: z.enum(ENDPOINT_NAMES).default("openai"),
  model: z.string().min(1),
  /** Instead of the preset's. */
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  /** Name of the environment variable with the key, instead of the preset's. */
  key_env: z.string().optional(),
  rendering: z.enum(["chat", "compact"]).default("chat"),
  /** System message in front of every prompt. */
  system: z.string().optional(),
  temperature: z.number().min(0).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  /** Longest answer in tokens, thinking included; what is asked for unless given. */
  max_tokens: z.int().positive().optional(),
  /** Fields that this model refuses and that are therefore left out. */
  omit: z.array(z.enum(["temperature", "top_p", "seed", "n", "max_tokens", "response_format"])).default([]),
  /** Sent with every request as it stands, e.g. chat_template_kwargs. */
  extra_body: z.record(z.string(), z.json()).default({}),
  /** Folder that keeps a record of every call, for replay. */
  record: z.string().min(1).optional(),
  /** Requests at once. */
  concurrency: z.int().min(1).max(1024).default(8),
  /** Seconds for one attempt. */
  timeout: positive.max(LONGEST_TIMEOUT).default(600),
  /** Largest response, in bytes. */
  max_response: z
    .int()
    .positive()
    .default(16 * 1024 * 1024),
  retries: z
    .strictObject({
      /** After the first attempt of a request. */
      most: z.int().nonnegative().default(5),
      /** Seconds; doubled with each attempt, and drawn from zero to that. */
      first_wait: positive.default(0.5),
      /** Seconds; an endpoint that asks for a longer wait is given up for this request. */
      longest_wait: positive.default(60),
      /** Retries of all requests together; each answer gives back half of one. A dead endpoint is soon left alone. */
      budget: z.int().nonnegative().default(100),
    })
    .prefault({}),
  budget: z
    .strictObject({
      /** Prompt and completion together. */
      tokens: z.int().positive().optional(),
      /** In the currency of the prices. */
      money: positive.optional(),
      /** For a million tokens. */
      prices: z.strictObject({ prompt: z.number().nonnegative(), completion: z.number().nonnegative() }).optional(),
    })
    .refine(({ money, prices }) => money === undefined || prices !== undefined, {
      message: "a budget in money needs prices",
      path: ["prices"],
    })
    .prefault({}),
});
export type PolicyFile = z.infer<typeof policyFileSchema>;
export type PolicyFileInput = z.input<typeof policyFileSchema>;

/** A policy file with its preset: everything that the policy needs but the key. */
export interface EndpointOptions extends Omit<PolicyFile, "base_url" | "key_env"> {
  baseUrl: string;
  keyEnv: string;
  preset: EndpointPreset;
}

/** @throws {ConfigError} naming what is wrong; a URL with a password or a query is refused, as it would be stored. */
export function endpointOptions(input: unknown, what: string): EndpointOptions {
  const { base_url, key_env, ...file } = parseWith(policyFileSchema, input, what);
  if (key_env !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(key_env)) {
    // Not left to the schema, whose message would repeat what may well be the key.
    throw new ConfigError({
      message: `${what}: key_env is not the name of an environment variable`,
      expected: "the name of the variable that holds the key, not the key itself",
      remedy: "export the key under a name, and give the name",
    });
  }
  const preset: EndpointPreset = ENDPOINT_PRESETS[file.endpoint];
  const baseUrl = (base_url ?? preset.baseUrl).replace(/\/+$/, "");
  const { username, password, search } = new URL(baseUrl);
  if (username !== "" || password !== "" || search !== "") {
    throw new ConfigError({
      message: `${what}: the base URL holds a user, a password or a query`,
      expected: "e.g. http://127.0.0.1:8000/v1",
      remedy: "name the environment variable of the key as key_env instead",
    });
  }
  return { ...file, baseUrl, keyEnv: key_env ?? preset.keyEnv, preset };
}

/** What decides the answers beside a request, with the values that are sent in the end; retries, budgets, waits and the key are no part. */
export function endpointSettings({
  model,
  baseUrl,
  rendering,
  system,
  omit,
  extra_body,
  preset,
  ...file
}: EndpointOptions): Record<string, unknown> {
  // A field of extra_body is written over the file's own, and an omitted one is not sent.
  const sent = (field: "temperature" | "top_p" | "max_tokens", wire: string) =>
    omit.includes(field) ? undefined : wire in extra_body ? extra_body[wire] : file[field];
  const [temperature, top_p, max_tokens] = [
    sent("temperature", "temperature"),
    sent("top_p", "top_p"),
    sent("max_tokens", preset.maxTokens),
  ];
  return {
    ...{ model, base_url: baseUrl, rendering, omit, extra_body },
    ...(system === undefined ? {} : { system }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(max_tokens === undefined ? {} : { max_tokens }),
  };
}

/** How the policy is named in reports: preset and model, and the base URL where it is another than the preset's. */
export function endpointName({ endpoint, model, baseUrl, preset }: EndpointOptions): string {
  return baseUrl === preset.baseUrl ? `${endpoint}:${model}` : `${endpoint}:${model}@${baseUrl}`;
}

/** Shorter keys are stand-ins for servers that want any ("0", "none"): they are no secret, and stand in many words. */
export const SHORTEST_SECRET = 8;

/**
 * Refuses options that hold the key itself, wherever they do (a model's name, a path of the base URL, a field of the body): they are stored.
 * @throws {ConfigError} which does not repeat it
 */
export function requireKeyApart(options: EndpointOptions, key: string | undefined): void {
  if (key === undefined || key.length < SHORTEST_SECRET || !JSON.stringify(options).includes(JSON.stringify(key).slice(1, -1))) return;
  throw new ConfigError({
    message: `the key of ${options.endpoint} stands in the policy itself, which is stored with its results`,
    expected: `the key in the environment variable ${options.keyEnv} alone`,
    remedy: "take it out of the specification or the policy file",
  });
}

/** The key from the environment; undefined where none is set and none is needed. @throws {ConfigError} where one is needed. */
export function endpointKey(
  { keyEnv, preset, baseUrl, endpoint }: EndpointOptions,
  environment: Record<string, string | undefined>,
): string | undefined {
  const key = environment[keyEnv]?.trim();
  if (key !== undefined && key !== "") return key;
  if (!preset.needsKey || baseUrl !== preset.baseUrl) return undefined;
  throw new ConfigError({
    message: `${endpoint} needs a key, and the environment variable ${keyEnv} is not set`,
    value: keyEnv,
    expected: `the key in ${keyEnv}`,
    remedy: `export ${keyEnv}=…, or name another variable as key_env in a policy file`,
  });
}
