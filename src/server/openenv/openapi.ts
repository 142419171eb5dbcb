/** The OpenAPI document of the HTTP half, made from the same schemas that validate it. */
import { actionJsonSchema, jsonSchemaOf, observationSchema, resetSchema, stateSchema } from "./schema.js";

/** Version of the HTTP interface (OpenEnv's profile openenv-http/1.x), not of the package. */
const API_VERSION = "1.0.0";

export function openApi(description: string): Record<string, unknown> {
  const json = (schema: unknown) => ({ "application/json": { schema } });
  const answer = (schema: unknown, text: string) => ({ "200": { description: text, content: json(schema) } });
  const refusal = { "422": { description: "The data is not valid", content: json({ type: "object" }) } };
  const result = {
    type: "object",
    properties: {
      observation: jsonSchemaOf(observationSchema),
      reward: { type: ["number", "null"] },
      done: { type: "boolean" },
      metadata: { type: "object" },
    },
    required: ["observation", "reward", "done"],
  };
  const step = {
    type: "object",
    properties: { action: actionJsonSchema(), reset: jsonSchemaOf(resetSchema) },
    required: ["action", "reset"],
  };
  const get = (summary: string, schema: unknown) => ({ get: { summary, responses: answer(schema, summary) } });
  const post = (summary: string, body: unknown, schema: unknown) => ({
    post: { summary, requestBody: { content: json(body) }, responses: { ...answer(schema, summary), ...refusal } },
  });
  return {
    openapi: "3.1.0",
    info: { title: "Envwright OpenEnv server", version: API_VERSION, description },
    paths: {
      "/reset": post("A board and its prompt; keeps nothing", jsonSchemaOf(resetSchema), result),
      "/step": post("Judges one action on the board that `reset` names; keeps nothing", step, result),
      "/state": get("State of an environment without an episode", jsonSchemaOf(stateSchema)),
      "/health": get("Whether the server runs", { type: "object" }),
      "/metadata": get("Name and description", { type: "object" }),
      "/schema": get("JSON schemas of action, observation, state", { type: "object" }),
      "/sessions": get("Sessions now and at most", { type: "object" }),
      "/mcp": post("MCP tools over JSON-RPC 2.0", { type: "object" }, { type: "object" }),
    },
  };
}
