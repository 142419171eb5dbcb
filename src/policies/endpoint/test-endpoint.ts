/** A real HTTP server for tests that answers as it is told, faults included, and remembers what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface SeenRequest {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown> & { messages: { role: string; content: string }[] };
  at: number;
}

export type Reply = (response: ServerResponse, request: SeenRequest) => void;

export interface TestEndpoint {
  baseUrl: string;
  seen: SeenRequest[];
  /** Most requests that were open at once. */
  mostOpen(): number;
  close(): Promise<void>;
}

/** @param reply for the request of this number, from 0. */
export async function startTestEndpoint(reply: (number: number, request: SeenRequest) => Reply): Promise<TestEndpoint> {
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let open = 0;
  let most = 0;
  const server = createServer((incoming, response) => {
    most = Math.max(most, ++open);
    response.on("close", () => open--);
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as SeenRequest["body"];
      const request: SeenRequest = { path: incoming.url!, headers: incoming.headers, body, at: Date.now() };
      seen.push(request);
      reply(seen.length - 1, request)(response, request);
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    mostOpen: () => most,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

export const refusal = (status: number, message: string, headers: Record<string, string> = {}): Reply =>
  json(status, { error: { message, type: "error" } }, headers);

export interface FakeChoice {
  content?: string | null;
  reasoning?: string;
  reasoning_content?: string;
  finish_reason?: string | null;
}

export function chat(choices: readonly FakeChoice[], usage: object | null = { prompt_tokens: 10, completion_tokens: 5 }): Reply {
  return json(200, {
    id: "chatcmpl-test",
    object: "chat.completion",
    created: 0,
    model: "served",
    choices: choices.map(({ finish_reason = "stop", content = null, ...rest }, index) => ({
      index,
      message: { role: "assistant", content, ...rest },
      finish_reason,
    })),
    ...(usage === null ? {} : { usage }),
  });
}

/** Answers with the prompt, so that answers can be told apart. */
export const echo: Reply = (response, request) => {
  const prompt = request.body.messages.at(-1)!.content;
  const n = (request.body.n as number | undefined) ?? 1;
  chat(Array.from({ length: n }, (_, i) => ({ content: `${prompt}#${i}` })))(response, request);
};

/** Announces more than it sends and cuts the connection in the middle of the body. */
export const cut: Reply = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"id":"x","choices":[{"mess');
  setTimeout(() => response.destroy(), 5);
};

/** Says nothing at all. */
export const silence: Reply = () => undefined;
