/** Notes to the person at the terminal, on stderr. A view that redraws lines in place takes them over, so that neither spoils the other. */

type Sink = (text: string) => void;

const toStderr: Sink = (text) => {
  process.stderr.write(`${text}\n`);
};
let sink = toStderr;

export function note(text: string): void {
  sink(text);
}

/** Sends notes to `to` until the function returned is called. */
export function routeNotes(to: Sink): () => void {
  sink = to;
  return () => {
    sink = toStderr;
  };
}
