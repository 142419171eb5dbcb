/** Evaluations of policies on frozen sets, with intervals and paired differences, beside the rows that the paper publishes. */
import type { Benchmarks, EvaluationEntry, PublishedTables } from "../../../src/ui/records.js";
import { useApi } from "../api.js";
import { Forest } from "../charts/forest.js";
import { byNumber, count, percent, points } from "../format.js";
import { DataTable, Empty, NotYet } from "../parts.js";
import { route, useRoute } from "../route.js";

export function BenchmarksView() {
  const against = useRoute().query.get("against");
  const { data, problem, reload } = useApi<Benchmarks>(
    against === null ? "benchmarks" : `benchmarks?against=${encodeURIComponent(against)}`,
    10_000,
  );
  if (data === undefined) return <NotYet title="Benchmarks" what="the evaluations" problem={problem} retry={reload} />;
  const groups = new Map<string, EvaluationEntry[]>();
  for (const e of data.evaluations) {
    if (e.report === null) continue;
    const key = `${e.report.set} · ${e.report.objective.replaceAll("_", " ")}`;
    groups.set(key, [...(groups.get(key) ?? []), e]);
  }
  return (
    <>
      <h1>Benchmarks</h1>
      {data.evaluations.length === 0 ? (
        <Empty title="No evaluation here yet">
          <p>Evaluate a checkpoint on a frozen set and keep the result in this folder:</p>
          <pre>envwright eval --policy embedded:runs/tiny/stages/07/checkpoint --set bench-3 --out runs/eval-tiny</pre>
        </Empty>
      ) : null}
      {data.evaluations
        .filter((e) => e.report === null)
        .map((e) => (
          <p key={e.id} class="notice">
            {e.id}: {e.problem}
          </p>
        ))}
      {[...groups].map(([key, entries]) => (
        <Group key={key} title={key} entries={entries} paired={data.paired} />
      ))}
      <Published published={data.published} />
    </>
  );
}

type Cell = NonNullable<EvaluationEntry["report"]>["total"];

const answered = ({ total, instances }: NonNullable<EvaluationEntry["report"]>): string =>
  total.n === instances ? count(total.n) : `${count(total.n)} of ${count(instances)}`;

function Group({ title, entries, paired }: { title: string; entries: EvaluationEntry[]; paired: Benchmarks["paired"] }) {
  const sizes = [...new Set(entries.flatMap((e) => Object.keys(e.report!.by_size)))].sort(byNumber);
  const rate = (cell: Cell | undefined, of: "valid" | "optimal") =>
    cell === undefined || cell.n === 0 ? (
      "–"
    ) : (
      <span class="rate-cell">
        {percent(cell[of].rate)}
        <span class="muted small">
          {(100 * cell[of].interval[0]).toFixed(1)}–{(100 * cell[of].interval[1]).toFixed(1)}
        </span>
      </span>
    );
  const partial = entries.filter((e) => e.report!.partial);
  return (
    <section class="panel">
      <h2>{title}</h2>
      <DataTable
        label={`Rates on ${title}`}
        head={["evaluation", "n", "valid", "optimal", ...sizes.map((s) => `valid, size ${s}`)]}
        rows={entries.map((e) => [
          <span key="n" class="name-cell">
            {e.id}
            {e.report!.partial ? " ‡" : ""} <span class="muted small">{short(e.report!.policy)}</span>
          </span>,
          answered(e.report!),
          rate(e.report!.total, "valid"),
          rate(e.report!.total, "optimal"),
          ...sizes.map((s) => rate(e.report!.by_size[s], "valid")),
        ])}
      />
      <p class="muted small">Below each rate its 95 % interval over instances, in per cent.</p>
      {partial.length === 0 ? null : (
        <p class="muted small">
          ‡ Over what was answered and not over the set:{" "}
          {partial.map((e) => `${e.id}, ${percent(e.report!.total.failed_share)} of the samples failed outside`).join("; ")}.
        </p>
      )}
      <Paired entries={entries} paired={paired.filter((p) => entries.some((e) => e.id === p.id))} />
    </section>
  );
}

/** Differences on the same boards. */
function Paired({ entries, paired }: { entries: EvaluationEntry[]; paired: Benchmarks["paired"] }) {
  const reference = paired[0]?.reference;
  if (reference === undefined) return null;
  const apart = entries.filter((e) => e.id !== reference && !paired.some((p) => p.id === e.id && p.reference === reference));
  const said = (d: Benchmarks["paired"][number]["valid"]): string =>
    `${points(d.difference)} (${points(d.interval[0])} to ${points(d.interval[1])})`;
  const shown = paired.filter((p) => p.reference === reference);
  return (
    <>
      <div class="title-line">
        <h3>Paired differences</h3>
        <label class="inline small">
          against{" "}
          <select value={reference} onChange={(e) => route.replaceQuery(new URLSearchParams({ against: e.currentTarget.value }))}>
            {entries.map((e) => (
              <option key={e.id}>{e.id}</option>
            ))}
          </select>
        </label>
      </div>
      <Forest
        zero
        unit="points"
        rows={shown.flatMap((p) => [
          { label: p.id, mean: p.valid.difference, interval: p.valid.interval, note: `valid ${said(p.valid)}`, values: [] },
          {
            label: "",
            key: `${p.id}, optimal`,
            mean: p.optimal.difference,
            interval: p.optimal.interval,
            note: `optimal ${said(p.optimal)}`,
            values: [],
            quiet: true,
          },
        ])}
      />
      <p class="muted small">
        Points of valid and, below it, of optimal rate, on the same {count(shown[0]!.valid.n)} boards; 95 % intervals over boards.
        {apart.length === 0 ? "" : ` On other boards, and so without a difference: ${apart.map((e) => e.id).join(", ")}.`}
      </p>
    </>
  );
}

function Published({ published }: { published: PublishedTables }) {
  const pair = (cell: readonly [number, number] | undefined): string =>
    cell === undefined ? "–" : `${cell[0].toFixed(2)} / ${cell[1].toFixed(2)}`;
  return (
    <section class="panel">
      <h2>Published by the paper</h2>
      <p class="muted">Valid / optimal in %. {published.source}: for orientation, never tested against ours.</p>
      {Object.entries(published.tables).map(([agents, rows]) => {
        const sizes = Object.keys(rows[0]?.sizes ?? {}).sort(byNumber);
        return (
          <details key={agents} class="numbers" open={agents === "3"}>
            <summary>{agents} agents</summary>
            <DataTable
              label={`Published, ${agents} agents`}
              head={["policy", ...sizes.map((s) => `size ${s}`), "all"]}
              rows={rows.map((r) => [
                <span key="m" class="name-cell">
                  {r.model}
                </span>,
                ...sizes.map((s) => pair(r.sizes[s])),
                pair(r.all),
              ])}
            />
          </details>
        );
      })}
    </section>
  );
}

/** A checkpoint's path by its last parts. */
function short(policy: string): string {
  const parts = policy.split("/");
  return parts.length <= 4 ? policy : `${policy.split(":")[0]}:…/${parts.slice(-4).join("/")}`;
}
