/**
 * Who may ask. The page is served to this machine: a name that is not its own (DNS rebinding), a request from another site's page, and a POST
 * without `--allow-actions` are refused. Every answer forbids the browser to load anything from elsewhere.
 */
import type { MiddlewareHandler } from "hono";
import { isOwnHost } from "../../server/own-host.js";

export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export interface GuardOptions {
  /** The name or address that the server was asked to listen on. */
  host: string;
  actions: boolean;
}

export function guard({ host, actions }: GuardOptions): MiddlewareHandler {
  return async (c, next) => {
    c.header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
    c.header("X-Content-Type-Options", "nosniff");
    c.header("Referrer-Policy", "no-referrer");
    c.header("Cross-Origin-Resource-Policy", "same-origin");
    c.header("Cross-Origin-Opener-Policy", "same-origin");
    const asked = c.req.header("host");
    if (!isOwnHost(asked, host)) {
      return c.json({ error: "this server does not answer to that name", remedy: "open it as http://localhost or by its address" }, 421);
    }
    const { method } = c.req;
    // The page itself may be linked to from anywhere; what is behind it is asked by itself alone, so that no other page can keep it busy.
    const site = c.req.header("sec-fetch-site");
    if (c.req.path.startsWith("/api/") && (site === "cross-site" || site === "same-site")) {
      return c.json({ error: "a request from another page is refused", remedy: "use the dashboard's own page" }, 403);
    }
    if (method === "GET" || method === "HEAD") return next();
    if (method !== "POST") return c.json({ error: `${method} is not answered here`, remedy: null }, 405);
    if (!actions) {
      return c.json({ error: "the dashboard is read-only", remedy: "start it with: envwright ui --allow-actions" }, 403);
    }
    if (c.req.header("origin") !== `http://${asked}`) {
      return c.json({ error: "a request from another page is refused", remedy: "use the dashboard's own page" }, 403);
    }
    if (c.req.header("content-type")?.split(";")[0]?.trim() !== "application/json") {
      return c.json({ error: "the body must be application/json", remedy: null }, 415);
    }
    return next();
  };
}
