/** A verdict in a line, as `verify` prints it for each completion and `draw` for the answer that it draws. */
import type { Verdict } from "../core/index.js";

/** The reason tells step, agents and cell. A cost is compared where its optimum is known. */
export function verdictLine(instance: string | number, { ok, code, reason, costs, optima }: Verdict): string {
  if (!ok) return `${instance}  ${code}  ${reason}`;
  const shown = Object.entries(costs ?? {}).map(([name, cost]) => {
    const optimum = optima[name];
    return `${name} ${cost}${optimum === undefined ? "" : cost === optimum ? " (optimal)" : `, optimum ${optimum}`}`;
  });
  return `${instance}  valid  ${shown.join("; ")}`;
}
