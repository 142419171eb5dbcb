/** Who listens to more than this machine is told who else can reach it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { callCli } from "./call-cli.js";

const runs = mkdtempSync(join(tmpdir(), "envwright-hosts-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

/** Ends as soon as it listens. */
const called = (...argv: string[]) => callCli(argv, AbortSignal.abort());

test("a dashboard and a server without a token warn on an address that others reach, and only there", async () => {
  for (const [host, warns] of [
    ["0.0.0.0", true],
    ["127.0.0.1", false],
    ["localhost", false],
  ] as const) {
    const ui = await called("ui", runs, "--port", "0", "--host", host);
    expect([host, ui.stderr.includes(`anyone who reaches ${host} can read`)]).toEqual([host, warns]);
    const served = await called("serve", "--reward", "--port", "0", "--host", host);
    expect([host, served.stderr.includes(`anyone who reaches ${host} can use`)]).toEqual([host, warns]);
  }
});
