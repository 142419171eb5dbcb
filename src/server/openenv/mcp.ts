/**
 * The same environment as MCP tools (JSON-RPC 2.0, one answer a request): `new_board` tells a board and its prompt, `judge_plan` judges an answer
 * to it. Both are stateless; the board is named by the options that made it. OpenEnv reserves the names reset, step, state and close.
 */
import { z } from "zod";
import { type Environment, InvalidDataError, validated } from "./environment.js";
import { described } from "./messages.js";
import { actionSchema, jsonSchemaOf, resetSchema } from "./schema.js";

export const PROTOCOL_VERSION = "2025-06-18";

const requestSchema = z.strictObject({
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
  id: z.union([z.string(), z.int(), z.null()]).optional(),
});
const callSchema = z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) });
export const judgeSchema = z.strictObject({ board: resetSchema, answer: actionSchema });

const TOOLS = [
  { name: "new_board", description: "A MAPF-FrozenLake board and the prompt that states it.", inputSchema: jsonSchemaOf(resetSchema) },
  {
    name: "judge_plan",
    description: "Judges an answer to a board: the verdict and the reward. `board`: the arguments that new_board had, with its seed.",
    inputSchema: jsonSchemaOf(judgeSchema),
  },
] as const;

export interface JsonRpcReply {
  jsonrpc: "2.0";
  id: string | number | null;
  result?: unknown;
  error?: { code: number; message: string };
}

export class ToolFace {
  constructor(
    private readonly newEnvironment: () => Environment,
    private readonly version: string,
  ) {}

  /** undefined for a notification, which has no answer. Total. */
  async answer(value: unknown): Promise<JsonRpcReply | undefined> {
    const parsed = requestSchema.safeParse(value);
    if (!parsed.success) return failure(null, -32600, "not a JSON-RPC 2.0 request");
    const { method, params, id } = parsed.data;
    if (method.startsWith("notifications/")) return undefined;
    const reply = (result: unknown): JsonRpcReply => ({ jsonrpc: "2.0", id: id ?? null, result });
    switch (method) {
      case "initialize":
        return reply({
          protocolVersion: PROTOCOL_VERSION,
          capabilities: { tools: {} },
          serverInfo: { name: "envwright", version: this.version },
        });
      case "ping":
        return reply({});
      case "tools/list":
        return reply({ tools: TOOLS });
      case "tools/call": {
        const call = callSchema.safeParse(params);
        if (!call.success) return failure(id, -32602, "params: a name and arguments are expected");
        if (!TOOLS.some(({ name }) => name === call.data.name))
          return failure(id, -32602, `there is no tool ${call.data.name.slice(0, 60)}`);
        try {
          const result = await this.call(call.data.name, call.data.arguments);
          return reply({ content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result, isError: false });
        } catch (error) {
          if (error instanceof InvalidDataError) return failure(id, -32602, error.message);
          return reply({ content: [{ type: "text", text: described(error)[1] }], isError: true });
        }
      }
      default:
        return failure(id, -32601, `there is no method ${method.slice(0, 60)}`);
    }
  }

  private async call(name: string, given: Record<string, unknown>): Promise<unknown> {
    const environment = this.newEnvironment();
    if (name === "new_board") return environment.reset(given);
    const { answer } = validated(judgeSchema, given);
    await environment.reset(given.board);
    return environment.step(answer);
  }
}

export function failure(id: string | number | null | undefined, code: number, message: string): JsonRpcReply {
  return { jsonrpc: "2.0", id: id ?? null, error: { code, message } };
}
