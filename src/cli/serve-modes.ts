/** What `envwright serve` can serve, by the flag that asks for it; each is loaded only when it is asked for. */
import type { ServedPart } from "../server/host.js";

export interface ServeRequest {
  /** Specification of a policy, where one was given. */
  policy: string | undefined;
  /** Its name in /v1/models, instead of its own. */
  modelName: string | undefined;
  family: string;
  /** Of the OpenEnv sessions: how many at once, seconds of silence until one is ended, seconds between pings. */
  sessions: { most: number; idle: number; heartbeat: number };
  /** Engine workers; 0: one per core. */
  workers: number;
  note(text: string): void;
}

export interface ServeMode {
  flag: "openai" | "reward" | "openenv";
  /** Of its flag, for the help. */
  description: string;
  /** What to tell the user once it listens. */
  address(url: string): string;
  open(request: ServeRequest): Promise<ServedPart>;
}

export const SERVE_MODES: readonly ServeMode[] = [
  {
    flag: "openai",
    description: "A policy as an OpenAI-compatible endpoint",
    address: (url) => `OpenAI-compatible endpoint: ${url}/v1`,
    open: async (request) => (await import("./serve-openai.js")).openOpenAi(request),
  },
  {
    flag: "reward",
    description: "Verdicts and rewards in batches, for trainers elsewhere",
    address: (url) => `reward service: POST ${url}/v1/score, metrics at ${url}/metrics`,
    open: async (request) => (await import("./serve-reward.js")).openReward(request),
  },
  {
    flag: "openenv",
    description: "The environment, by the OpenEnv protocol",
    address: (url) => `OpenEnv server: ${url} (sessions at ${url.replace("http", "ws")}/ws)`,
    open: async (request) => (await import("./serve-openenv.js")).openOpenEnv(request),
  },
];
