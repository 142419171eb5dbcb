/**
 * The view of a run on stderr, from the event stream alone: redrawn in place on a terminal, plain lines elsewhere, nothing when quiet.
 * Never writes to stdout, and never fails a run because the terminal did.
 */
import { createLogUpdate } from "log-update";
import type { RunEvent } from "../../core/index.js";
import { routeNotes } from "../notes.js";
import { lineOf, progressLine } from "./lines.js";
import { renderLive } from "./live.js";
import { applyEvent, newRunState } from "./run-state.js";

const REDRAW_MS = 120;
const LINE_EVERY_MS = 30_000;

export interface RunView {
  onEvent(event: RunEvent): void;
  close(): void;
}

export function openRunView(options: { quiet: boolean; past?: readonly RunEvent[]; stream?: NodeJS.WriteStream }): RunView {
  const stream = options.stream ?? process.stderr;
  const state = newRunState();
  for (const event of options.past ?? []) applyEvent(state, event);
  if (options.quiet) return { onEvent: () => {}, close: () => {} };
  if (stream.isTTY !== true || process.env.TERM === "dumb") {
    let last = Date.now();
    return {
      onEvent(event) {
        applyEvent(state, event);
        const line = lineOf(event, state) ?? (Date.now() - last > LINE_EVERY_MS ? progressLine(state, Date.now()) : undefined);
        if (line === undefined) return;
        last = Date.now();
        stream.write(`${line}\n`);
      },
      close: () => {},
    };
  }
  const update = createLogUpdate(stream, { showCursor: true });
  const draw = (): void => update(renderLive(state, Date.now(), Math.max(40, (stream.columns ?? 100) - 1)));
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  const release = routeNotes((text) => update.persist(text));
  return {
    onEvent: (event) => applyEvent(state, event),
    close() {
      clearInterval(timer);
      release();
      draw();
      update.done();
    },
  };
}
