/**
 * Endpoints by name, as data: where they are, which environment variable holds their key, and what of the chat API they do not take. What
 * a self-hosted server takes depends on its version; a refusal that can be worked around (n, response_format) is noticed at run time too.
 */
export interface EndpointPreset {
  baseUrl: string;
  /** Environment variable of the key. */
  keyEnv: string;
  /** Hosted services refuse every request without a key. */
  needsKey: boolean;
  /** Most choices of one request (`n`); 1 where it takes none of several. */
  choices: number;
  seed: boolean;
  /** `response_format: {type: "json_schema"}`. */
  jsonSchema: boolean;
  /** Name of the field that bounds the answer. */
  maxTokens: "max_tokens" | "max_completion_tokens";
}

const HOSTED = { needsKey: true, jsonSchema: true, maxTokens: "max_tokens" } as const;
const LOCAL = { needsKey: false, seed: true, jsonSchema: true, maxTokens: "max_tokens" } as const;

export const ENDPOINT_PRESETS = {
  openai: {
    ...HOSTED,
    baseUrl: "https://api.openai.com/v1",
    keyEnv: "OPENAI_API_KEY",
    choices: 16,
    seed: true,
    maxTokens: "max_completion_tokens",
  },
  anthropic: {
    ...HOSTED,
    baseUrl: "https://api.anthropic.com/v1",
    keyEnv: "ANTHROPIC_API_KEY",
    choices: 1,
    seed: false,
    jsonSchema: false,
  },
  google: {
    ...HOSTED,
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    keyEnv: "GEMINI_API_KEY",
    choices: 8,
    seed: false,
  },
  openrouter: { ...HOSTED, baseUrl: "https://openrouter.ai/api/v1", keyEnv: "OPENROUTER_API_KEY", choices: 1, seed: true },
  vllm: { ...LOCAL, baseUrl: "http://127.0.0.1:8000/v1", keyEnv: "VLLM_API_KEY", choices: 16 },
  sglang: { ...LOCAL, baseUrl: "http://127.0.0.1:30000/v1", keyEnv: "SGLANG_API_KEY", choices: 16 },
  llamacpp: { ...LOCAL, baseUrl: "http://127.0.0.1:8080/v1", keyEnv: "LLAMA_API_KEY", choices: 1 },
  ollama: { ...LOCAL, baseUrl: "http://127.0.0.1:11434/v1", keyEnv: "OLLAMA_API_KEY", choices: 1 },
} as const satisfies Record<string, EndpointPreset>;

export type EndpointName = keyof typeof ENDPOINT_PRESETS;
export const ENDPOINT_NAMES = Object.keys(ENDPOINT_PRESETS) as [EndpointName, ...EndpointName[]];
