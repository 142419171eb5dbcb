/**
 * One HTTP server for whatever is served: it owns the socket, the bearer token, the size of bodies, /health and the end. What is served is
 * a `ServedPart`: routes, and for WebSockets an upgrade. Loopback unless told otherwise. It never logs a header or a body.
 * Without a token, pages of other sites are refused: by Origin, and on loopback by Host as well. Bound to the network, any name is its own.
 */
import { timingSafeEqual } from "node:crypto";
import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { BoundaryError, InputError } from "../core/index.js";
import { isForeignOrigin, isLoopback, isOwnHost } from "./own-host.js";

export interface ServedPart {
  /** How /health names it. */
  name: string;
  /** Its routes, mounted at the root. */
  routes: Hono;
  /** Takes a WebSocket upgrade and returns true, or leaves it to another part. The token has been checked. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Largest body that it needs, in bytes, where that is more than the host's default. */
  maxBody?: number;
  /** Called when the server begins to close: ends the connections that were upgraded, which the server does not wait out by itself. */
  drain?(): Promise<void>;
  /** Called once, after the last request has been answered. */
  close(): Promise<void>;
}

export interface HostOptions {
  parts: readonly ServedPart[];
  host: string;
  /** 0: any free port. */
  port: number;
  /** Asked of every request but /health, as `Authorization: Bearer …`. */
  token?: string | undefined;
  /** Largest body of a request, in bytes. */
  maxBody?: number;
  /** How long open requests may take when the server is closed, in milliseconds. */
  grace?: number;
  /** How long a client may take to send the headers and the whole of a request, in milliseconds; then 408. */
  timeouts?: { headers: number; request: number };
  /** Told the message of an error that a client gets as a bare 500. */
  note?: (text: string) => void;
}

export interface Host {
  /** e.g. http://127.0.0.1:8000 */
  url: string;
  /** Takes no new requests, waits for the open ones within the grace, closes the parts. */
  close(): Promise<void>;
}

const DEFAULT_BODY = 4 * 1024 * 1024;
const DEFAULT_TIMEOUTS = { headers: 15_000, request: 60_000 };

/** @throws {InputError} when the address cannot be used. */
export async function startHost(options: HostOptions): Promise<Host> {
  const { parts, token } = options;
  const app = new Hono();
  app.use(async (c, next) => {
    const problem = refusal(
      { host: c.req.header("host"), origin: c.req.header("origin"), reads: /^(GET|HEAD)$/.test(c.req.method) },
      options,
    );
    if (problem === undefined) return next();
    return c.json({ error: { message: problem.message, type: "invalid_request_error" } }, problem.status);
  });
  app.get("/health", (c) => c.json({ status: "healthy", serving: parts.map((part) => part.name) }));
  app.use(async (c, next) => {
    if (!isAllowed(c.req.header("authorization"), token)) {
      return c.json({ error: { message: "a bearer token is needed", type: "authentication_error", code: "unauthorized" } }, 401);
    }
    return next();
  });
  const maxSize = options.maxBody ?? Math.max(DEFAULT_BODY, ...parts.map((part) => part.maxBody ?? 0));
  app.use(
    bodyLimit({
      maxSize,
      onError: (c) => c.json({ error: { message: `the body is larger than ${maxSize} bytes`, type: "invalid_request_error" } }, 413),
    }),
  );
  for (const part of parts) app.route("/", part.routes);
  app.notFound((c) => c.json({ error: { message: `there is no ${c.req.method} ${c.req.path}`, type: "invalid_request_error" } }, 404));
  app.onError((error, c) => {
    options.note?.(`${c.req.method} ${c.req.path} failed: ${error.message}`);
    return c.json({ error: { message: "the server failed", type: "server_error" } }, 500);
  });
  const { headers, request } = options.timeouts ?? DEFAULT_TIMEOUTS;
  const serverOptions = { headersTimeout: headers, requestTimeout: request, connectionsCheckingInterval: Math.min(1000, headers) };
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions }) as Server;
  server.on("upgrade", (request, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    const { host, origin, authorization } = request.headers;
    const problem = refusal({ host, origin, reads: false }, options);
    if (problem !== undefined) return socket.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nConnection: close\r\n\r\n`);
    if (!isAllowed(authorization, token)) return socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
    try {
      if (parts.some((part) => part.upgrade?.(request, socket, head))) return;
      socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n");
    } catch (error) {
      // What is thrown in here would end the process.
      options.note?.(`an upgrade of ${request.url} failed: ${(error as Error).message}`);
      socket.end("HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n");
    }
  });
  await listen(server, options);
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    async close() {
      const drained = Promise.all(parts.map((part) => part.drain?.()));
      await end(server, options.grace ?? 5000);
      await drained;
      for (const part of parts) await part.close();
    },
  };
}

/** Why a request that a browser may have sent for a foreign page is not answered. A token says more than any header of a browser's. */
function refusal(
  { host, origin, reads }: { host: string | undefined; origin: string | undefined; reads: boolean },
  { host: bound, token }: HostOptions,
): { status: 403 | 421; message: string } | undefined {
  if (token !== undefined) return undefined;
  if (isLoopback(bound) && !isOwnHost(host, bound)) {
    return {
      status: 421,
      message: "this server does not answer to that name: call it by localhost, or start it with --token-env or --host",
    };
  }
  if (!reads && isForeignOrigin(origin, host)) return { status: 403, message: "a request from another site's page is refused" };
  return undefined;
}

function isAllowed(header: string | undefined, token: string | undefined): boolean {
  if (token === undefined) return true;
  const [given, wanted] = [Buffer.from(header ?? ""), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function listen(server: Server, { host, port }: HostOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const detail = { message: `cannot listen on ${host}:${port}: ${error.message}`, value: port, cause: error };
      const isTaken = error.code === "EADDRINUSE" || error.code === "EACCES" || error.code === "EADDRNOTAVAIL";
      reject(
        isTaken
          ? new InputError({ ...detail, remedy: "choose another --host or --port; --port 0 takes any free one" })
          : new BoundaryError({ ...detail, boundary: "server" }),
      );
    });
    server.listen(port, host, resolve);
  });
}

function end(server: Server, grace: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), grace);
    // A connection that is kept alive falls idle only once its last answer is out.
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(late);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}
