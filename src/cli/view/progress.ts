/** Progress of one piece of work on stderr: a line redrawn in place on a terminal, a line every half minute elsewhere, nothing when quiet. */
import { createLogUpdate } from "log-update";
import { note, routeNotes } from "../notes.js";
import { duration } from "./live.js";

const REDRAW_MS = 100;
const LINE_EVERY_MS = 30_000;
const BAR = 30;

export interface ProgressView {
  /** Starts the next piece of work; the pace is measured from here. */
  start(what: string): void;
  update(done: number, total: number, detail?: string): void;
  close(): void;
}

export function openProgress(options: { quiet: boolean }): ProgressView {
  let what = "";
  let started = Date.now();
  let last = 0;
  const text = (done: number, total: number, detail: string): string => {
    const seconds = (Date.now() - started) / 1000;
    const left = done > 0 && done < total ? `, about ${duration((seconds / done) * (total - done))} left` : "";
    return `${what} ${done}/${total}${detail === "" ? "" : `, ${detail}`}${left}`;
  };
  const start = (name: string): void => {
    what = name;
    started = Date.now();
    last = 0;
  };
  if (options.quiet) return { start, update: () => {}, close: () => {} };
  if (process.stderr.isTTY !== true || process.env.TERM === "dumb") {
    return {
      start(name) {
        start(name);
        last = Date.now();
      },
      update(done, total, detail = "") {
        if (Date.now() - last < LINE_EVERY_MS) return;
        last = Date.now();
        note(text(done, total, detail));
      },
      close: () => {},
    };
  }
  const redraw = createLogUpdate(process.stderr, { showCursor: true });
  const release = routeNotes((line) => redraw.persist(line));
  return {
    start,
    update(done, total, detail = "") {
      if (Date.now() - last < REDRAW_MS && done < total) return;
      last = Date.now();
      const full = Math.round((Math.min(done, total) / Math.max(1, total)) * BAR);
      redraw(`${"█".repeat(full)}${"░".repeat(BAR - full)} ${text(done, total, detail)}`.slice(0, (process.stderr.columns ?? 100) - 1));
    },
    close() {
      redraw.clear();
      release();
    },
  };
}
