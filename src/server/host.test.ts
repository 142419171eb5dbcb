/** The host by raw requests, as a browser would send them for a foreign page. */
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { Hono } from "hono";
import { afterEach, expect, test } from "vitest";
import { type Host, type HostOptions, startHost } from "./host.js";

const open: Host[] = [];
afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
});

async function serve(
  options: Partial<HostOptions> = {},
): Promise<(method: string, headers?: Record<string, string>, path?: string) => Promise<number>> {
  const routes = new Hono();
  routes.all("/answer", (c) => c.text("answered"));
  routes.get("/broken", () => {
    throw new Error("the engine is gone");
  });
  const upgrade = (_request: IncomingMessage, socket: { end(text: string): void }): boolean => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    return true;
  };
  const host = await startHost({ parts: [{ name: "p", routes, upgrade, close: async () => {} }], host: "127.0.0.1", port: 0, ...options });
  open.push(host);
  const { port } = new URL(host.url);
  return (method, headers = {}, path = "/answer") =>
    new Promise((resolve, reject) => {
      const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace("PORT", port)]));
      const asked: ClientRequest = request({ host: "127.0.0.1", port, method, path, headers: { host: `127.0.0.1:${port}`, ...own } });
      asked.on("response", (response) => response.resume().on("end", () => resolve(response.statusCode!)));
      asked.on("upgrade", (response, socket) => {
        socket.destroy();
        resolve(response.statusCode!);
      });
      asked.on("error", reject);
      asked.end();
    });
}
const socket = { connection: "Upgrade", upgrade: "websocket" };

test("on loopback without a token a foreign name is refused, whatever is asked, and this machine's own names are answered", async () => {
  const ask = await serve();
  for (const host of ["evil.example", "evil.example:PORT", "localhost.evil.example", "192.168.1.4:PORT"]) {
    for (const [method, path] of [
      ["GET", "/answer"],
      ["POST", "/answer"],
      ["GET", "/health"],
    ] as const) {
      expect([host, method, await ask(method, { host }, path)]).toEqual([host, method, 421]);
    }
    expect([host, await ask("GET", { host, ...socket })]).toEqual([host, 421]);
  }
  for (const host of ["localhost:PORT", "127.0.0.1:PORT", "[::1]:PORT", "LOCALHOST:1"]) {
    expect([host, await ask("POST", { host }), await ask("GET", { host, ...socket })]).toEqual([host, 200, 101]);
  }
});

test("a page of another site gets neither a POST nor a socket; one of this server's own, and a program without Origin, do", async () => {
  const ask = await serve();
  for (const origin of ["http://evil.example", "http://127.0.0.1:1", "null"]) {
    expect([origin, await ask("POST", { origin }), await ask("GET", { origin, ...socket })]).toEqual([origin, 403, 403]);
  }
  const origin = "http://127.0.0.1:PORT";
  expect([await ask("POST", { origin }), await ask("GET", { origin, ...socket }), await ask("POST")]).toEqual([200, 101, 200]);
});

test("bound to the network it is called by any name; with a token the token decides", async () => {
  const wide = await serve({ host: "0.0.0.0" });
  expect([await wide("POST", { host: "trainer-0:PORT" }), await wide("GET", { host: "trainer-0:PORT", ...socket })]).toEqual([200, 101]);
  expect(await wide("POST", { host: "trainer-0:PORT", origin: "http://evil.example" })).toBe(403);
  const locked = await serve({ token: "s3cret" });
  const authorization = "Bearer s3cret";
  expect([await locked("POST", { host: "box" }), await locked("POST", { host: "box", authorization })]).toEqual([401, 200]);
});

test("a failure is a bare 500 to the client, and its message is told to whoever runs the server", async () => {
  const notes: string[] = [];
  const ask = await serve({ note: (text) => notes.push(text) });
  expect(await ask("GET", {}, "/broken?secret=1")).toBe(500);
  expect(notes).toEqual(["GET /broken failed: the engine is gone"]);
});

test("an upgrade that a part fails on is answered and told, and the server goes on", async () => {
  const notes: string[] = [];
  const upgrade = (): boolean => {
    throw new Error("no such path");
  };
  const ask = await serve({ note: (text) => notes.push(text), parts: [{ name: "p", routes: new Hono(), upgrade, close: async () => {} }] });
  expect([await ask("GET", socket, "/x"), await ask("GET", {}, "/health")]).toEqual([500, 200]);
  expect(notes).toEqual(["an upgrade of /x failed: no such path"]);
});
