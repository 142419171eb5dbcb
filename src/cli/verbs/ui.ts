/** `envwright ui`: the dashboard over a folder of runs, until it is interrupted. */
import { isLoopback } from "../../server/own-host.js";
import { openInBrowser, proposeAction, USUAL_PORT } from "../dashboard.js";
import { defineVerb } from "../define-verb.js";

export default defineVerb({
  name: "ui",
  description: "Serve the dashboard: runs as they go on, stages, rollouts, benchmarks",
  options: {
    runs: { type: "positional", hint: "RUNS_DIR", description: "Folder with runs, or one run; runs unless given" },
    port: { type: "integer", hint: "PORT", default: USUAL_PORT, least: 0, description: "Port; 0 takes any that is free" },
    host: { type: "text", hint: "HOST", default: "127.0.0.1", description: "Address to listen on" },
    "allow-actions": { type: "flag", description: "Let the page ask an engineer again and answer as the human engineer" },
    open: { type: "flag", description: "Open the page in the browser" },
  },
  examples: [
    ["envwright ui", "the runs in runs/, at http://127.0.0.1:4680/"],
    ["envwright ui runs/tiny --open", "one run, in the browser"],
    ["envwright ui --allow-actions", "with the buttons that act"],
  ],
  interruptible: true,
  async run(values, { signal, print, note }) {
    const { startUi } = await import("../../ui/server/serve.js");
    const server = await startUi({
      runs: values.runs ?? "runs",
      host: values.host,
      port: values.port,
      ...(values["allow-actions"] ? { actions: { propose: proposeAction } } : {}),
    });
    try {
      print(`The dashboard of ${values.runs ?? "runs"} is at ${server.url}`);
      if (!isLoopback(values.host)) note(`warning: anyone who reaches ${values.host} can read what is in ${values.runs ?? "runs"}`);
      note(`${values["allow-actions"] ? "Actions are allowed." : "Read-only; --allow-actions lets it act."} Ctrl-C ends it.`);
      if (values.open) openInBrowser(server.url, note);
      await new Promise<void>((done) => {
        if (signal.aborted) return done();
        signal.addEventListener("abort", () => done(), { once: true });
      });
    } finally {
      await server.close();
    }
  },
});
