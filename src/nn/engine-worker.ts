/**
 * One worker thread of the engine: its own sessions and its own copy of the parameters. Tasks are done one after another, in the order
 * they arrive, so a task always sees the parameters that were set before it.
 */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { EngineError } from "../core/index.js";
import {
  CLOSE,
  type MicroBatchResult,
  type ReplyMessage,
  type TaskKind,
  type TaskMessage,
  type Tasks,
  type WorkerSetup,
} from "./engine-protocol.js";
import { floats, integers, parameterTensors, SessionCache, type Tensor } from "./graph/session.js";
import type { MicroBatch } from "./micro-batch.js";
import { graphParameters, parameterLayout } from "./qwen3-config.js";
import { Sampler } from "./sampler.js";
import { gradientName, trainingGraph } from "./training-graph.js";

const { config, threads } = workerData as WorkerSetup;
const port = parentPort as MessagePort;
const inputs = graphParameters(config);
const { total } = parameterLayout(config);
const sessions = new SessionCache({ intraOpNumThreads: threads, flushDenormals: true });
let parameters: { readonly flat: Float32Array; readonly tensors: Record<string, Tensor> } | undefined;
const sampler = new Sampler(config, sessions);

function current() {
  if (parameters === undefined) throw new EngineError({ message: "the engine has no parameters yet", remedy: "call setParameters first" });
  return parameters;
}

async function runMicroBatch(batch: MicroBatch): Promise<MicroBatchResult> {
  const { tensors } = current();
  const count = batch.rows.length;
  const gradient = batch.loss === "log-probs" ? undefined : new Float32Array(total);
  const logProbs = new Float32Array(count);
  const entropies = new Float32Array(count);
  if (count === 0) return { loss: 0, gradient, logProbs, entropies };

  const session = await sessions.get(`${batch.loss} ${batch.length}`, () => trainingGraph(config, batch.loss, batch.length).build());
  const feeds: Record<string, Tensor> = {
    ...tensors,
    tokens: integers(batch.tokens, [batch.tokens.length]),
    rows: integers(batch.rows, [count]),
    targets: integers(batch.targets, [count]),
    inverseTemperature: floats(Float32Array.of(batch.inverseTemperature), []),
  };
  for (const [name, vector] of Object.entries(batch.vectors)) feeds[name] = floats(vector, [count]);
  for (const [name, scalar] of Object.entries(batch.scalars)) feeds[name] = floats(Float32Array.of(scalar), []);

  // The runtime writes straight into these, gradients into their places in the flat buffer.
  const loss = new Float32Array(1);
  const fetches: Record<string, Tensor> = { logProbs: floats(logProbs, [count]), entropies: floats(entropies, [count]) };
  if (gradient !== undefined) {
    fetches.loss = floats(loss, []);
    for (const p of inputs) fetches[gradientName(p.name)] = floats(gradient.subarray(p.offset, p.offset + p.size), p.shape);
  }
  await session.run(feeds, fetches);
  return { loss: loss[0]!, gradient, logProbs, entropies };
}

async function perform(message: TaskMessage): Promise<Tasks[TaskKind]["reply"]> {
  switch (message.kind) {
    case "parameters": {
      const flat = message.request as Float32Array;
      parameters = { flat, tensors: parameterTensors(inputs, flat) };
      sampler.setParameters(flat);
      return null;
    }
    case "microBatch":
      return runMicroBatch(message.request as MicroBatch);
    case "sample":
      current();
      return sampler.sample(message.request as Tasks["sample"]["request"]);
  }
}

function buffersOf(reply: Tasks[TaskKind]["reply"]): ArrayBuffer[] {
  if (reply === null || Array.isArray(reply)) return [];
  return [reply.gradient, reply.logProbs, reply.entropies].flatMap((a) => (a === undefined ? [] : [a.buffer as ArrayBuffer]));
}

let last: Promise<void> = Promise.resolve();
let closing = false;
port.on("message", (message: TaskMessage | typeof CLOSE) => {
  if (message === CLOSE) {
    closing = true;
    // Not before the native runtime is out of its last call: ending a thread inside of one aborts the whole process.
    last.finally(() => port.close());
    return;
  }
  last = last.then(async () => {
    if (closing) return;
    try {
      const reply = await perform(message);
      port.postMessage({ id: message.id, reply } satisfies ReplyMessage, buffersOf(reply));
    } catch (error) {
      const { name, message: text } = error instanceof Error ? error : new Error(String(error));
      port.postMessage({ id: message.id, error: { name, message: text } } satisfies ReplyMessage);
    }
  });
});
