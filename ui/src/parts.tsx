/** Small pieces that every view uses: problems, loading, state marks, tables behind pictures. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiProblem, RunState } from "../../src/ui/records.js";
import type { Connection } from "./api.js";

export function Problem({ problem, retry }: { problem: ApiProblem; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{problem.error}</strong>
      </p>
      {problem.remedy === null ? null : <p>{problem.remedy}</p>}
      {retry === undefined ? null : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading muted" role="status">
      Reading {what} …
    </p>
  );
}

/** A view before its record has come: reading, or why it cannot be read. */
export function NotYet(props: { title: string; what: string; problem: ApiProblem | undefined; retry: () => void }) {
  const { title, what, problem, retry } = props;
  if (problem === undefined) return <Loading what={what} />;
  return (
    <>
      <h1>{title}</h1>
      <Problem problem={problem} retry={retry} />
    </>
  );
}

/** Says that the stream is lost, while it is. */
export function Lost({ connection }: { connection: Connection }) {
  return (
    <div aria-live="polite">
      {connection === "lost" ? <p class="notice">The server does not answer; the page goes on by itself when it does.</p> : null}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

const STATES: Record<RunState, [mark: string, label: string]> = {
  running: ["●", "running"],
  waiting: ["◆", "waits for you"],
  finished: ["✓", "finished"],
  failed: ["✕", "failed"],
  interrupted: ["‖", "interrupted"],
};

export function State({ state }: { state: RunState }) {
  const [mark, label] = STATES[state];
  return (
    <span class={`state ${state}`}>
      <span aria-hidden="true">{mark}</span> {label}
    </span>
  );
}

const OUTCOMES: Record<string, string> = { accepted: "●", repaired: "◐", rejected: "✕" };
export function Outcome({ outcome }: { outcome: string }) {
  return (
    <span class={`outcome ${outcome}`}>
      <span aria-hidden="true">{OUTCOMES[outcome] ?? "○"}</span> {outcome}
    </span>
  );
}

/** The numbers of a picture, for those who want or need them; made when they are opened, since a long run has thousands. */
export function Numbers({ head, rows, label }: { head: string[]; rows: (string | number)[][]; label: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="numbers" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{label} as a table</summary>
      {open ? <DataTable head={head} rows={rows} label={label} /> : null}
    </details>
  );
}

export function DataTable({ head, rows, label }: { head: string[]; rows: (ComponentChildren | string | number)[][]; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((h) => (
              <th key={h} scope="col">
                {h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) =>
                j === 0 ? (
                  <th key={j} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={j}>{cell}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
