/** One WebSocket message → one reply, as the OpenEnv protocol has them. What is wrong with a message is answered, and the session goes on. */
import { z } from "zod";
import { InputError } from "../../core/index.js";
import { type Environment, InvalidDataError, validated } from "./environment.js";
import type { ToolFace } from "./mcp.js";

export type ErrorCode =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "CAPACITY_REACHED"
  | "FACTORY_ERROR"
  | "SESSION_ERROR";

export interface Reply {
  type: "observation" | "state" | "mcp" | "error";
  data: unknown;
}

const data = z.record(z.string(), z.unknown());
const messageSchemas = {
  reset: z.strictObject({ type: z.string(), data: data.default({}) }),
  step: z.strictObject({ type: z.string(), data }),
  mcp: z.strictObject({ type: z.string(), data }),
  state: z.strictObject({ type: z.string() }),
  close: z.strictObject({ type: z.string() }),
};
type MessageType = keyof typeof messageSchemas;

export function errorReply(code: ErrorCode, message: string, more: Record<string, unknown> = {}): Reply {
  return { type: "error", data: { message, code, ...more } };
}

/** The reply to a message, or "close" where it asks for the end. Total. */
export async function answer(text: string, environment: Environment, tools: ToolFace): Promise<Reply | "close"> {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (error) {
    return errorReply("INVALID_JSON", `the message is not JSON: ${(error as Error).message}`);
  }
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    return errorReply("VALIDATION_ERROR", "the message is not an object with a type");
  }
  const { type } = message as { type?: unknown };
  if (typeof type !== "string" || !Object.hasOwn(messageSchemas, type)) {
    const known = Object.keys(messageSchemas).join(", ");
    return errorReply("UNKNOWN_TYPE", `unknown message type ${JSON.stringify(type ?? null).slice(0, 60)}; one of ${known}`);
  }
  try {
    const { data } = validated(messageSchemas[type as MessageType] as z.ZodType<{ data?: Record<string, unknown> }>, message);
    switch (type as MessageType) {
      case "reset":
        return { type: "observation", data: await environment.reset(data) };
      case "step":
        return { type: "observation", data: environment.step(data) };
      case "state":
        return { type: "state", data: environment.state() };
      case "mcp":
        return { type: "mcp", data: (await tools.answer(data)) ?? null };
      case "close":
        return "close";
    }
  } catch (error) {
    return errorReply(...described(error));
  }
}

/** What an error means to a client: a fault in its data, or in carrying it out. */
export function described(error: unknown): ["VALIDATION_ERROR" | "EXECUTION_ERROR", string, Record<string, unknown>] {
  if (error instanceof InvalidDataError) return ["VALIDATION_ERROR", error.message, { errors: error.issues }];
  if (error instanceof InputError) return ["VALIDATION_ERROR", error.message, { errors: [{ path: "", message: error.explain() }] }];
  return ["EXECUTION_ERROR", (error as Error).message, {}];
}
