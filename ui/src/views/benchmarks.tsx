/** Evaluations of policies on frozen sets, with intervals, beside the rows that the paper publishes. */
import type { Benchmarks, EvaluationEntry } from "../../../src/ui/records.js";
import { useApi } from "../api.js";
import { byNumber, count, percent, points } from "../format.js";
import { DataTable, Empty, Loading, Problem } from "../parts.js";

export function BenchmarksView() {
  const { data, problem, reload } = useApi<Benchmarks>("benchmarks", 10_000);
  if (data === undefined) return problem === undefined ? <Loading what="the evaluations" /> : <Problem problem={problem} retry={reload} />;
  const groups = new Map<string, EvaluationEntry[]>();
  for (const e of data.evaluations) {
    if (e.report === null) continue;
    const key = `${e.report.set} · ${e.report.objective.replaceAll("_", " ")}`;
    groups.set(key, [...(groups.get(key) ?? []), e]);
  }
  const unread = data.evaluations.filter((e) => e.report === null);
  return (
    <>
      <h1>Benchmarks</h1>
      {data.evaluations.length === 0 ? (
        <Empty title="No evaluation here yet">
          <p>Evaluate a checkpoint on a frozen set and keep the result in this folder:</p>
          <pre>envwright eval --policy embedded:runs/tiny/stages/07/checkpoint --set bench-3 --out runs/eval-tiny</pre>
        </Empty>
      ) : null}
      {unread.map((e) => (
        <p key={e.id} class="notice">
          {e.id}: {e.problem}
        </p>
      ))}
      {[...groups].map(([key, entries]) => (
        <Group key={key} title={key} entries={entries} paired={data.paired} />
      ))}
      <section class="panel">
        <h2>Published by the paper</h2>
        <p class="muted">Valid / optimal in %. {data.published.source}: for orientation, never tested against ours.</p>
        {Object.entries(data.published.tables).map(([agents, rows]) => {
          const sizes = Object.keys(rows[0]?.sizes ?? {}).sort(byNumber);
          return (
            <details key={agents} class="numbers" open={agents === "3"}>
              <summary>{agents} agents</summary>
              <DataTable
                label={`Published, ${agents} agents`}
                head={["policy", ...sizes.map((s) => `size ${s}`), "all"]}
                rows={rows.map((r) => [r.model, ...sizes.map((s) => pair(r.sizes[s])), pair(r.all)])}
              />
            </details>
          );
        })}
      </section>
    </>
  );
}

function Group({ title, entries, paired }: { title: string; entries: EvaluationEntry[]; paired: Benchmarks["paired"] }) {
  const sizes = [...new Set(entries.flatMap((e) => Object.keys(e.report!.by_size)))].sort(byNumber);
  const rate = (r: { rate: number; interval: readonly [number, number] } | undefined) =>
    r === undefined ? (
      "–"
    ) : (
      <span class="nowrap">
        {percent(r.rate)}{" "}
        <span class="muted small">
          {(100 * r.interval[0]).toFixed(1)}–{(100 * r.interval[1]).toFixed(1)}
        </span>
      </span>
    );
  return (
    <section class="panel">
      <h2>{title}</h2>
      <DataTable
        label={`Valid rate on ${title}`}
        head={["evaluation", "n", "valid", "optimal", ...sizes.map((s) => `valid, size ${s}`)]}
        rows={entries.map((e) => [
          <span key="n">
            {e.id} <span class="muted small">{e.report!.policy}</span>
          </span>,
          count(e.report!.total.n),
          rate(e.report!.total.valid),
          rate(e.report!.total.optimal),
          ...sizes.map((s) => rate(e.report!.by_size[s]?.valid)),
        ])}
      />
      <p class="muted small">Per cent with 95 % intervals over instances.</p>
      {paired
        .filter((p) => entries.some((e) => e.id === p.id))
        .map((p) => (
          <p key={p.id}>
            {p.id} against {p.reference}, paired on {count(p.valid.n)}: valid {points(p.valid.difference)} points (
            {points(p.valid.interval[0])} to {points(p.valid.interval[1])}), optimal {points(p.optimal.difference)} (
            {points(p.optimal.interval[0])} to {points(p.optimal.interval[1])}).
          </p>
        ))}
    </section>
  );
}

const pair = (cell: readonly [number, number] | undefined): string =>
  cell === undefined ? "–" : `${cell[0].toFixed(2)} / ${cell[1].toFixed(2)}`;
