/** Matrices of runs: each arm with its interval over seeds, and the runs behind it. */

import { useState } from "preact/hooks";
import type { Estimate } from "../../../src/experiments/summary.js";
import type { ExperimentEntry } from "../../../src/ui/records.js";
import { useApi } from "../api.js";
import { Forest } from "../charts/forest.js";
import { percent, points } from "../format.js";
import { DataTable, Empty, NotYet } from "../parts.js";
import { href } from "../route.js";

const MEASURES = {
  gain: "gain over base",
  valid: "valid rate",
  optimal: "optimal rate",
  against: "against the reference",
  conflictGain: "gain on conflict boards",
  atEqualTokens: "valid at equal tokens",
  againstAtEqualTokens: "against the reference at equal tokens",
  gainPerMillionTokens: "gain per million tokens",
  auc: "mean valid over stages",
} as const;
type Measure = keyof typeof MEASURES;
const SIGNED: readonly Measure[] = ["gain", "against", "conflictGain", "againstAtEqualTokens", "gainPerMillionTokens"];

export function ExperimentsView() {
  const { data, problem, reload } = useApi<ExperimentEntry[]>("experiments", 10_000);
  if (data === undefined) return <NotYet title="Experiments" what="the experiments" problem={problem} retry={reload} />;
  return (
    <>
      <h1>Experiments</h1>
      {data.length === 0 ? (
        <Empty title="No finished experiment here">
          <p>An experiment runs a matrix of arms and seeds and compares them:</p>
          <pre>envwright experiment recipes/experiments/engineers.yaml --out runs/engineers</pre>
        </Empty>
      ) : (
        data.map((e) => <Experiment key={e.id} entry={e} />)
      )}
    </>
  );
}

function Experiment({ entry }: { entry: ExperimentEntry }) {
  const [measure, setMeasure] = useState<Measure>("gain");
  const of = (arm: ExperimentEntry["arms"][number], m: Measure): Estimate | undefined => (m === "against" ? arm.against?.seeds : arm[m]);
  const signed = SIGNED.includes(measure);
  const said = (e: Estimate | undefined, plus: boolean): string =>
    e === undefined
      ? "–"
      : `${plus ? points(e.mean) : percent(e.mean)}${e.interval == null ? "" : ` (${plus ? points(e.interval[0]) : percent(e.interval[0])} to ${plus ? points(e.interval[1]) : percent(e.interval[1])})`}`;
  return (
    <section class="panel">
      <h2>{entry.name}</h2>
      {entry.description === "" ? null : <p class="lede">{entry.description}</p>}
      {entry.problem === null ? null : <p class="notice bad">{entry.problem}</p>}
      {entry.arms.length === 0 ? null : (
        <>
          <label class="inline">
            Show{" "}
            <select value={measure} onChange={(e) => setMeasure(e.currentTarget.value as Measure)}>
              {Object.entries(MEASURES).map(([m, label]) => (
                <option key={m} value={m}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <Forest
            zero={signed}
            unit={signed ? "points" : "%"}
            rows={entry.arms.flatMap((arm) => {
              const e = of(arm, measure);
              return e === undefined
                ? []
                : [
                    {
                      label: arm.arm === entry.reference ? `${arm.arm} (reference)` : arm.arm,
                      mean: e.mean,
                      interval: e.interval ?? undefined,
                      values: e.values,
                      note: said(e, signed),
                    },
                  ];
            })}
          />
          <p class="muted small">
            {signed ? "Points of valid rate. " : ""}Diamonds are means over {entry.arms[0]?.seeds.length} training seeds, lines 95 % t
            intervals over them, dots the seeds. Last checkpoint on the {entry.arms[0]?.set} set.
          </p>
          <DataTable
            label={`Arms of ${entry.name}`}
            head={["arm", "valid", "optimal", "gain over base", `against ${entry.reference}`, "proposals"]}
            rows={entry.arms.map((a) => [
              a.arm,
              said(a.valid, false),
              said(a.optimal, false),
              said(a.gain, true),
              said(a.against?.seeds, true),
              Object.entries(a.proposals)
                .map(([o, n]) => `${n} ${o}`)
                .join(", ") || "–",
            ])}
          />
        </>
      )}
      {entry.cells.length === 0 ? null : (
        <details class="numbers">
          <summary>Its {entry.cells.length} runs</summary>
          <ul class="chips">
            {entry.cells.map((c) => (
              <li key={`${c.arm}${c.seed}`}>
                {c.run === null ? (
                  `${c.arm} seed ${c.seed}`
                ) : (
                  <a href={href("run", c.run)}>
                    {c.arm} seed {c.seed}
                  </a>
                )}{" "}
                <span class="muted">{c.state}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
