/** The command line inside the test's own process: the same program without the cost of a process. One call at a time. */
import { routeNotes } from "../src/cli/notes.js";
import { runProgram } from "../src/cli/program.js";
import type { CliResult } from "./run-cli.js";

export async function callCli(argv: readonly string[], signal: AbortSignal = new AbortController().signal): Promise<CliResult> {
  let stdout = "";
  let stderr = "";
  const release = routeNotes((text) => {
    stderr += `${text}\n`;
  });
  try {
    const write = (text: string): void => {
      stdout += text;
    };
    const code = await runProgram(argv, { write, colour: false, interrupts: () => signal });
    return { code, stdout, stderr };
  } finally {
    release();
  }
}
