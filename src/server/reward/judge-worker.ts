/** One thread of the reward service. Batches are judged one after another; bytes come in and go out, so that the main thread parses nothing. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { JudgedCompletion } from "../../core/index.js";
import { Judge, type JudgeDefaults } from "./judge.js";

export interface JudgeTask {
  id: number;
  body: ArrayBuffer;
  emaValid: number;
  /** Send the judged items back as well. */
  listen: boolean;
}

export interface JudgeReply {
  id: number;
  status: 200 | 400;
  body: Uint8Array<ArrayBuffer>;
  codes: Record<string, number>;
  scored: JudgedCompletion[];
}

const port = parentPort as MessagePort;
const judge = new Judge(workerData as JudgeDefaults);
const decoder = new TextDecoder();
const encoder = new TextEncoder();

port.on("message", ({ id, body, emaValid, listen }: JudgeTask) => {
  const judged = judge.judge(decoder.decode(body), emaValid);
  const bytes = encoder.encode(judged.body);
  const reply: JudgeReply = { id, status: judged.status, body: bytes, codes: judged.codes, scored: listen ? judged.scored : [] };
  port.postMessage(reply, [bytes.buffer]);
});
