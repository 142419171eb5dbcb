/** `envwright serve`: one server over HTTP for a policy, for rewards, for an environment, or for several of them, until Ctrl-C. */
import { InputError } from "../../core/index.js";
import { type ServedPart, startHost } from "../../server/host.js";
import { isLoopback } from "../../server/own-host.js";
import { defineVerb } from "../define-verb.js";
import { SERVE_MODES, type ServeMode } from "../serve-modes.js";

const described = (flag: ServeMode["flag"]) => SERVE_MODES.find((mode) => mode.flag === flag)!.description;

export default defineVerb({
  name: "serve",
  description: "Serve a policy as an OpenAI-compatible endpoint, rewards, or an environment",
  options: {
    openai: { type: "flag", description: described("openai") },
    reward: { type: "flag", description: described("reward") },
    openenv: { type: "flag", description: described("openenv") },
    policy: { type: "text", hint: "SPEC", description: "The policy that --openai serves" },
    "served-model-name": { type: "text", hint: "NAME", description: "Its name in /v1/models; that of the policy unless given" },
    "max-sessions": {
      type: "integer",
      hint: "N",
      default: 256,
      least: 1,
      description: "OpenEnv sessions at once; one more is turned away",
    },
    idle: {
      type: "integer",
      hint: "SECONDS",
      default: 900,
      least: 1,
      description: "An OpenEnv session ends after that long without a message",
    },
    heartbeat: {
      type: "integer",
      hint: "SECONDS",
      default: 30,
      least: 1,
      description: "Between two pings of an OpenEnv session; a client that answers none is cut at the next",
    },
    family: { type: "text", hint: "NAME", default: "mapf-frozenlake", description: "Environment family" },
    host: { type: "text", hint: "HOST", default: "127.0.0.1", description: "Address to listen on" },
    port: { type: "integer", hint: "PORT", default: 8000, least: 0, description: "Port to listen on; 0: any free one" },
    "token-env": { type: "text", hint: "NAME", description: "Environment variable with the bearer token that every request must carry" },
    workers: { type: "integer", hint: "N", default: 0, least: 0, description: "Engine workers; 0: one per core" },
  },
  examples: [
    ["envwright serve --openai --policy embedded:runs/tiny/stages/07/checkpoint", "a checkpoint behind http://127.0.0.1:8000/v1"],
    ["envwright serve --openai --policy embedded:DIR --host 0.0.0.0 --token-env SERVE_TOKEN", "for other machines, with a token"],
    ["envwright serve --openenv", "MAPF-FrozenLake for clients of the OpenEnv protocol"],
    [
      "envwright serve --openenv --max-sessions 2000 --idle 120",
      "many rollouts at once; a client that died gives its place back in two minutes",
    ],
  ],
  interruptible: true,
  async run(values, { signal, note }) {
    const modes = SERVE_MODES.filter((mode) => values[mode.flag]);
    if (modes.length === 0) {
      throw new InputError({
        message: "nothing to serve was named",
        expected: SERVE_MODES.map((mode) => `--${mode.flag}`).join(", "),
        remedy: "envwright serve --help lists what it takes",
      });
    }
    const token = tokenFrom(values["token-env"]);
    if (token === undefined && !isLoopback(values.host)) {
      note(`warning: anyone who reaches ${values.host} can use this server; --token-env NAME asks for a token`);
    }
    const parts: ServedPart[] = [];
    try {
      for (const mode of modes) {
        parts.push(
          await mode.open({
            policy: values.policy,
            modelName: values["served-model-name"],
            family: values.family,
            sessions: { most: values["max-sessions"], idle: values.idle, heartbeat: values.heartbeat },
            workers: values.workers,
            note,
          }),
        );
      }
      const host = await startHost({ parts: [...parts], host: values.host, port: values.port, token, note });
      parts.length = 0; // The host closes them.
      for (const mode of modes) note(mode.address(host.url));
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await host.close();
    } finally {
      for (const part of parts) await part.close();
    }
  },
});

function tokenFrom(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const token = process.env[name];
  if (token !== undefined && token !== "") return token;
  throw new InputError({
    message: `--token-env: the environment variable ${name} is not set`,
    value: name,
    expected: "the name of a variable that holds the token",
    remedy: `export ${name}=… before starting the server`,
  });
}
