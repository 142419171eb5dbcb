/**
 * WebSocket sessions: one environment per connection, messages answered one after another. A session ends when its client says so, is silent
 * for `idle` (half-open connections, which answer no ping, sooner), or sends what no client should; when the server is full, the newcomer is
 * told and let go. A message larger than `maxMessage` closes the connection (1009).
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Environment } from "./environment.js";
import type { ToolFace } from "./mcp.js";
import { answer, errorReply, type Reply } from "./messages.js";

export interface SessionLimits {
  /** Sessions at once. */
  sessions: number;
  /** Milliseconds without a message until a session is ended. */
  idle: number;
  /** Milliseconds between pings; a connection that answered none in between is cut. */
  heartbeat: number;
  /** Largest message, in bytes. */
  maxMessage: number;
}

export const DEFAULT_LIMITS: SessionLimits = { sessions: 256, idle: 15 * 60_000, heartbeat: 30_000, maxMessage: 1024 * 1024 };

/** How long an answer that is on its way may hold up the server's end, in milliseconds. */
const GRACE = 5000;
/** How long a closing client may take to say goodbye, in milliseconds. */
const GOODBYE = 1000;
const [GOING_AWAY, UNSUPPORTED, INTERNAL, TRY_LATER] = [1001, 1003, 1011, 1013];

interface Session {
  socket: WebSocket;
  environment: Environment;
  lastMessage: number;
  isAlive: boolean;
  /** Messages that are being answered or wait for it. */
  open: number;
}

export class Sessions {
  private readonly server: WebSocketServer;
  private readonly sessions = new Set<Session>();
  private readonly sockets = new Set<WebSocket>();
  private readonly timers: NodeJS.Timeout[];
  private closing = false;

  /** @param now milliseconds of a clock that does not jump. */
  constructor(
    private readonly newEnvironment: () => Environment,
    private readonly tools: ToolFace,
    readonly limits: SessionLimits,
    private readonly now: () => number,
  ) {
    this.server = new WebSocketServer({ noServer: true, maxPayload: limits.maxMessage, perMessageDeflate: false });
    this.timers = [setInterval(() => this.reap(), Math.min(1000, limits.idle / 2)), setInterval(() => this.beat(), limits.heartbeat)];
    for (const timer of this.timers) timer.unref();
  }

  get active(): number {
    return this.sessions.size;
  }

  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.server.handleUpgrade(request, socket, head, (connection) => this.open(connection));
  }

  /** Lets every session finish the message it is at, then says goodbye. */
  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    for (const timer of this.timers) clearInterval(timer);
    const closed = [...this.sockets].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())));
    for (const socket of this.sockets) {
      const session = [...this.sessions].find((one) => one.socket === socket);
      if (session === undefined || session.open === 0) goodbye(socket, GOING_AWAY, "the server is closing");
    }
    const late = setTimeout(() => {
      for (const socket of this.sockets) socket.terminate();
    }, GRACE);
    await Promise.all(closed);
    clearTimeout(late);
    this.server.close();
  }

  private open(socket: WebSocket): void {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    // Protocol faults (too large a message, broken frames) close the socket by themselves.
    socket.on("error", () => {});
    if (this.closing) {
      goodbye(socket, GOING_AWAY, "the server is closing");
      return;
    }
    const { sessions: most } = this.limits;
    if (this.active >= most) {
      const message = `the server is at its capacity of ${most} sessions; try again later`;
      socket.send(JSON.stringify(errorReply("CAPACITY_REACHED", message, { active_sessions: this.active, max_sessions: most })));
      goodbye(socket, TRY_LATER, "capacity reached");
      return;
    }
    let environment: Environment;
    try {
      environment = this.newEnvironment();
    } catch (error) {
      socket.send(JSON.stringify(errorReply("FACTORY_ERROR", `no environment could be made: ${(error as Error).message}`)));
      goodbye(socket, INTERNAL, "no environment");
      return;
    }
    const session: Session = { socket, environment, lastMessage: this.now(), isAlive: true, open: 0 };
    this.sessions.add(session);
    socket.on("close", () => this.sessions.delete(session));
    socket.on("pong", () => {
      session.isAlive = true;
    });
    let turn = Promise.resolve();
    socket.on("message", (data, isBinary) => {
      // Nothing more is read until this is answered and the answer has left: a client that does not listen cannot fill the memory.
      socket.pause();
      session.open++;
      turn = turn.then(() => this.take(session, data, isBinary));
    });
  }

  private async take(session: Session, data: RawData, isBinary: boolean): Promise<void> {
    const { socket } = session;
    session.lastMessage = this.now();
    if (socket.readyState === socket.OPEN) {
      if (isBinary) await this.fail(session, UNSUPPORTED, "messages are text; this one is binary");
      else {
        const reply = await answer(String(data), session.environment, this.tools);
        if (reply === "close") goodbye(socket, 1000, "");
        else await sent(socket, reply);
      }
    }
    session.lastMessage = this.now();
    session.isAlive = true;
    session.open--;
    if (session.open > 0) return;
    socket.resume();
    if (this.closing) goodbye(socket, GOING_AWAY, "the server is closing");
  }

  private async fail({ socket }: Session, code: number, message: string): Promise<void> {
    await sent(socket, errorReply("SESSION_ERROR", message));
    goodbye(socket, code, message);
  }

  private reap(): void {
    const before = this.now() - this.limits.idle;
    for (const session of this.sessions) {
      if (session.open > 0 || session.lastMessage > before) continue;
      this.sessions.delete(session);
      void this.fail(session, GOING_AWAY, `the session was idle for ${this.limits.idle / 1000} s`);
    }
  }

  private beat(): void {
    for (const session of this.sessions) {
      if (!session.isAlive) {
        session.socket.terminate();
        continue;
      }
      // While a message is being answered nothing is read, pongs neither; one whose answer does not leave is cut at the next beat.
      session.isAlive = session.open > 0 && session.socket.bufferedAmount === 0;
      session.socket.ping();
    }
  }
}

/** Resolves once the reply has left, or cannot. */
function sent(socket: WebSocket, reply: Reply): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off("close", done);
      resolve();
    };
    socket.once("close", done);
    socket.send(JSON.stringify(reply), done);
  });
}

/** Closes, and cuts what does not answer the goodbye. */
function goodbye(socket: WebSocket, code: number, reason: string): void {
  socket.resume();
  socket.close(code, reason);
  const late = setTimeout(() => socket.terminate(), GOODBYE);
  socket.once("close", () => clearTimeout(late));
}
