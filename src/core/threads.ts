/**
 * Starts a worker thread from compiled JavaScript, or from TypeScript sources under tsx and Vitest. Node 20 does not hand tsx's loader
 * down to worker threads, so the source case registers it inside of the thread first.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
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
