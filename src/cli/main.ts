#!/usr/bin/env node
/** The `envwright` command as a process: its streams, its signals, its exit code. What it does is in program.ts. */
import { EnvwrightError, InterruptedError } from "../core/index.js";
import { storageFailure } from "../store/storage-failure.js";
import { note } from "./notes.js";
import { runProgram } from "./program.js";

endWhenNothingCanBeWritten();
process.exitCode = await runProgram(process.argv.slice(2), {
  write: (text) => void process.stdout.write(text),
  colour: process.stdout.isTTY === true,
  interrupts: abortOnSignals,
});

/** The first signal asks the work to stop where it can be resumed; the second ends the process at once. */
function abortOnSignals(keeps: boolean): AbortSignal {
  const controller = new AbortController();
  const onSignal = (): void => {
    // process.exit would stop the engine's threads inside native calls, which aborts with a trace; the run folder stands a kill.
    if (controller.signal.aborted) process.kill(process.pid, "SIGKILL");
    note(`Stopping${keeps ? "; what is done is kept" : ""}. Ctrl-C again ends at once.`);
    controller.abort(new InterruptedError({ message: "interrupted" }));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return controller.signal;
}

/** `envwright report … | head` closes the pipe while we still write: nothing is wrong then. A full disk is. */
function endWhenNothingCanBeWritten(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(process.exitCode ?? 0);
      const failure = storageFailure(error, "write", "the output");
      if (stream === process.stdout) note(`error: ${failure instanceof EnvwrightError ? failure.explain() : failure.message}`);
      process.exit(1);
    });
  }
}
