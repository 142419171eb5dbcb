/** How an engine is run: as a process group on this machine, or as a job of a cluster (verl/ray-jobs.ts). */
import { groupRunner, type ProcessCommand, type ProcessEnd, type RunProcess } from "../../processes/index.js";

export type EngineCommand = ProcessCommand;
export type EngineEnd = ProcessEnd;
export type RunEngine = RunProcess;

/** @param kind of the trainer. @param grace milliseconds between asking the group to end and killing it. */
export function processRunner(kind: string, grace = 5000): RunEngine {
  return groupRunner({ boundary: kind, remedy: "check trainer.python and trainer.launch", grace });
}
