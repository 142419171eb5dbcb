/** Runs beside each other: validation at equal tokens, what their recipes differ in, and the paired difference of their last checkpoints. */
import type { Comparison } from "../../../src/ui/records.js";
import { useApi } from "../api.js";
import { Curves, SERIES } from "../charts/curves.js";
import { Forest } from "../charts/forest.js";
import { count, percent, points, tokens } from "../format.js";
import { DataTable, Empty, NotYet, Numbers, State } from "../parts.js";
import { href } from "../route.js";

export function CompareView({ ids }: { ids: string[] }) {
  const { data, problem, reload } = useApi<Comparison>(
    ids.length < 2 ? undefined : `compare?runs=${ids.map(encodeURIComponent).join(",")}`,
    5000,
  );
  if (ids.length < 2)
    return (
      <>
        <h1>Runs beside each other</h1>
        <Empty title="Nothing to compare">
          <p>
            Tick two or more runs in <a href={href("runs")}>the list</a>.
          </p>
        </Empty>
      </>
    );
  if (data === undefined) return <NotYet title="Runs beside each other" what="the runs" problem={problem} retry={reload} />;
  const curves = data.runs.map(({ id, report }) => ({
    label: id,
    points: [
      ...(report.base === undefined
        ? []
        : [{ x: 0, y: report.base.valid.rate, low: report.base.valid.interval[0], high: report.base.valid.interval[1] }]),
      ...report.stages.flatMap((s) =>
        s.validation === undefined
          ? []
          : [
              {
                x: s.tokens?.total ?? 0,
                y: s.validation.valid.rate,
                low: s.validation.valid.interval[0],
                high: s.validation.valid.interval[1],
              },
            ],
      ),
    ],
  }));
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={href("runs")}>Runs</a> <span aria-hidden="true">/</span> compare
      </nav>
      <h1>{data.runs.length} runs beside each other</h1>
      <section class="panel">
        <h2>Valid rate at equal tokens</h2>
        <Curves curves={curves} x="tokens sampled in training" y="valid on the validation set" />
        <Numbers
          label="Curves"
          head={[
            "run",
            ...Array.from({ length: Math.max(...curves.map((c) => c.points.length)) }, (_, i) => (i === 0 ? "base" : String(i))),
          ]}
          rows={curves.map((c) => [c.label, ...c.points.map((p) => `${percent(p.y)} at ${tokens(p.x)}`)])}
        />
      </section>
      <section class="panel">
        <h2>Last checkpoints, against {data.runs[0]?.id}</h2>
        <Forest
          zero
          unit="points"
          rows={data.paired.flatMap((p) =>
            p.gain === null
              ? []
              : [
                  {
                    label: p.id,
                    mean: p.gain.valid.difference,
                    interval: p.gain.valid.interval,
                    note: `${points(p.gain.valid.difference)} (${points(p.gain.valid.interval[0])} to ${points(p.gain.valid.interval[1])})`,
                    values: [],
                  },
                ],
          )}
        />
        <p class="muted small">
          Valid rate, paired over the same boards (
          {data.paired.map((p) => (p.gain === null ? "" : `${p.set}, ${count(p.gain.valid.n)}`)).find((t) => t !== "") ?? "none"}); 95 %
          intervals are over boards, not over training seeds.
        </p>
        {data.paired.flatMap((p) =>
          p.problem === null
            ? []
            : [
                <p key={p.id} class="notice">
                  {p.id}: {p.problem}
                </p>,
              ],
        )}
      </section>
      <section class="panel">
        <h2>The runs</h2>
        <DataTable
          label="Runs"
          head={["run", "state", "engineer", "base", "last valid", "last optimal", "tokens"]}
          rows={data.runs.map(({ id, state, report }, i) => {
            const last = report.stages.findLast((s) => s.validation !== undefined);
            return [
              <span key="a" class="nowrap">
                <span class={`series-mark s${i % SERIES}`} aria-hidden="true" /> <a href={href("run", id)}>{id}</a>
              </span>,
              <State key="s" state={state} />,
              `${report.run.engineer} ${report.run.variant}`,
              percent(report.base?.valid.rate),
              percent(last?.validation?.valid.rate),
              percent(last?.validation?.optimal.rate),
              tokens(last?.tokens?.total ?? 0),
            ];
          })}
        />
      </section>
      <section class="panel">
        <h2>What their recipes differ in</h2>
        {data.differences.length === 0 ? (
          <p class="muted">Nothing: the same recipe and seed.</p>
        ) : (
          <DataTable
            label="Differences"
            head={["value", ...data.runs.map((r) => r.id)]}
            rows={data.differences.map((d) => [
              <code key="p">{d.path}</code>,
              ...d.values.map((v) => (v.length > 60 ? `${v.slice(0, 57)}…` : v)),
            ])}
          />
        )}
      </section>
    </>
  );
}
