/** The dashboard as a server of this machine: opens a port, says its address, closes with everything that is open. */
import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import { BoundaryError, InputError } from "../../core/index.js";
import { isLoopback } from "../../server/own-host.js";
import { type Actions, createApp } from "./app.js";

export interface UiOptions {
  /** Folder with runs, or one run. */
  runs: string;
  /** `runs` is one run, which may not exist yet: nothing beside it is served. */
  isRun?: boolean;
  /** 127.0.0.1 unless given. */
  host?: string;
  /** 0: any free one. */
  port: number;
  actions?: Actions;
  pageDir?: string;
}

export interface UiServer {
  url: string;
  port: number;
  close(): Promise<void>;
}

/** @throws {InputError} for actions beyond loopback. @throws {BoundaryError} when the port is taken. */
export async function startUi(options: UiOptions): Promise<UiServer> {
  const { host = "127.0.0.1", port, actions } = options;
  if (actions !== undefined && !isLoopback(host)) {
    throw new InputError({
      message: `--allow-actions on ${host} would let anyone on the network act`,
      value: host,
      expected: "a loopback address with --allow-actions",
      remedy: "leave --host out and reach the machine through an SSH tunnel, or leave --allow-actions out",
    });
  }
  const ending = new AbortController();
  const { app, warm, close } = createApp({ ...options, host, signal: ending.signal });
  const server = await new Promise<Server>((resolve, reject) => {
    const opened = serve({ fetch: app.fetch, hostname: host, port }, () => resolve(opened as Server));
    opened.once("error", (cause: NodeJS.ErrnoException) => reject(cannotListen(cause, host, port)));
  });
  setImmediate(() => void warm());
  const address = server.address();
  const bound = address !== null && typeof address === "object" ? address.port : port;
  const shown = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${shown}:${bound}/`,
    port: bound,
    close: async () => {
      ending.abort();
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeIdleConnections();
      setTimeout(() => server.closeAllConnections(), 200).unref();
      await closed;
      await close();
    },
  };
}

function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): Error {
  const taken = cause.code === "EADDRINUSE";
  return new BoundaryError({
    boundary: "network",
    message: taken ? `port ${port} of ${host} is in use` : `cannot listen on ${host}:${port}: ${cause.message}`,
    value: port,
    expected: "a free port",
    remedy: taken ? "give another one: --port 0 takes any that is free" : "check --host and --port",
    cause,
  });
}
