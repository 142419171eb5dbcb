/**
 * Starts a worker thread, or a process, from compiled JavaScript, or from TypeScript sources under tsx and Vitest. Node 20 does not hand
 * tsx's loader down to worker threads, so the source case registers it inside of the thread first.
 */
import { type ChildProcess, fork } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/**
 * @param from `import.meta.url` of the caller.
 * @param name of the entry beside it, without extension, e.g. "./engine-worker".
 */
export function startThread(from: string, name: string, workerData?: unknown): Worker {
  if (!from.endsWith(".ts")) return new Worker(new URL(`${name}.js`, from), { workerData, execArgv: [] });
  // By path: resolving "tsx/esm/api" from here would give its CommonJS half, which cannot register in an ES module thread.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx/package.json"));
  const loader = new URL("dist/esm/api/index.mjs", tsx).href;
  const entry = new URL(`${name}.ts`, from).href;
  const code = `import(${JSON.stringify(loader)}).then(({ register }) => { register(); return import(${JSON.stringify(entry)}); })`;
  return new Worker(code, { eval: true, workerData, execArgv: [] });
}

/**
 * A process with a channel for messages. Its stderr is a pipe; it has no other stream.
 * @param from `import.meta.url` of the caller.
 * @param name of the entry beside it, without extension.
 * @param flags of Node for it, e.g. its largest heap.
 */
export function startProcess(from: string, name: string, flags: readonly string[] = []): ChildProcess {
  const source = from.endsWith(".ts");
  const entry = fileURLToPath(new URL(`${name}${source ? ".ts" : ".js"}`, from));
  const loader = source ? ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href] : [];
  return fork(entry, [], { execArgv: [...loader, ...flags], stdio: ["ignore", "ignore", "pipe", "ipc"] });
}
