/**
 * Whether a request was meant for this machine. A browser lets a foreign page point its own name here (DNS rebinding), or send a request
 * without reading the answer; its Host and Origin headers give it away. Programs that are no browser send no Origin.
 */
import { isIP } from "node:net";

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether a Host header is one of ours. An address in digits is: rebinding needs a name that its owner can point elsewhere. */
export function isOwnHost(header: string | undefined, host: string): boolean {
  const name = hostName(header);
  if (name === undefined) return false;
  if (isLoopback(name)) return true;
  if (isLoopback(host)) return false;
  return name === host.toLowerCase() || isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}

/** Whether a page of another site asks: its Origin names another host and port than it was sent to. */
export function isForeignOrigin(origin: string | undefined, host: string | undefined): boolean {
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase());
}

function hostName(header: string | undefined): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/i.exec(header ?? "");
  return match?.[1]?.toLowerCase();
}
