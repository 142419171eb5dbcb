/** Instances and rollouts by filter, with the query that finds them. The filter is in the address. */
import { useEffect, useMemo } from "preact/hooks";
import type { RolloutPage, RunDetail } from "../../../src/ui/records.js";
import { useApi } from "../api.js";
import { byNumber, codeColour, count, percent } from "../format.js";
import { Empty, Loading, Problem } from "../parts.js";
import { href, route, useRoute } from "../route.js";

const PAGE = 50;

export function RolloutsView({ run }: { run: string }) {
  const at = useRoute();
  const detail = useApi<RunDetail>(`runs/${encodeURIComponent(run)}`);
  const { query } = at;
  const set = query.get("set") ?? "validation";
  const offset = Number(query.get("offset") ?? 0);
  const asked = useMemo(() => {
    const q = new URLSearchParams(query);
    if (!q.has("set")) q.set("set", "validation");
    q.set("limit", String(PAGE));
    return q.toString();
  }, [query]);
  const { data, problem, reload } = useApi<RolloutPage>(`runs/${encodeURIComponent(run)}/rollouts?${asked}`);
  const change = (name: string, value: string): void => {
    const q = new URLSearchParams(query);
    if (value === "") q.delete(name);
    else q.set(name, value);
    if (name !== "offset") q.delete("offset");
    route.replaceQuery(q);
  };
  useEffect(() => {
    document.title = `Rollouts · ${run} · Envwright`;
    return () => {
      document.title = "Envwright";
    };
  }, [run]);
  const family = detail.data?.family;
  const strata = Object.keys(detail.data?.report.base?.by_size ?? detail.data?.stages[0]?.requested ?? {}).sort(byNumber);
  const agents = Object.keys(detail.data?.report.base?.by_tag ?? {}).flatMap((t) => (t.startsWith("agents=") ? [t.slice(7)] : []));
  const bound = (name: string, label: string) => (
    <label>
      {label}
      <input type="number" step="0.05" min="0" max="1" value={query.get(name) ?? ""} onInput={(e) => change(name, e.currentTarget.value)} />
    </label>
  );
  const select = (name: string, label: string, values: readonly (string | number)[], all: string) => (
    <label>
      {label}
      <select value={query.get(name) ?? ""} onChange={(e) => change(name, e.currentTarget.value)}>
        <option value="">{all}</option>
        {values.map((v) => (
          <option key={v} value={String(v)}>
            {v}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={href("runs")}>Runs</a> <span aria-hidden="true">/</span> <a href={href("run", run)}>{run}</a>{" "}
        <span aria-hidden="true">/</span> rollouts
      </nav>
      <h1>Instances and rollouts</h1>
      <form class="row-form filters" onSubmit={(e) => e.preventDefault()} aria-label="Filter">
        <label>
          set
          <select value={set} onChange={(e) => change("set", e.currentTarget.value)}>
            <option value="validation">validation</option>
            <option value="training">training</option>
          </select>
        </label>
        {select("stage", "stage", detail.data?.stages.map((s) => s.index) ?? [], "all")}
        {select("size", family?.stratumLabel ?? "size", strata, "all")}
        {agents.length > 0 ? select("agents", "agents", agents, "any") : null}
        {select("code", "code", ["valid", ...(family?.failureCodes.map((c) => c.code) ?? [])], "all")}
        {set === "training" ? (
          <>
            {bound("reward_min", "reward from")}
            {bound("reward_max", "to")}
          </>
        ) : null}
        <label>
          order
          <select
            value={`${query.get("order") ?? "id"}-${query.get("direction") ?? "asc"}`}
            onChange={(e) => {
              const [order, direction] = e.currentTarget.value.split("-") as [string, string];
              const q = new URLSearchParams(query);
              q.set("order", order);
              q.set("direction", direction);
              q.delete("offset");
              route.replaceQuery(q);
            }}
          >
            <option value="id-asc">as sampled</option>
            <option value="id-desc">last first</option>
            <option value="tokens-desc">longest first</option>
            <option value="tokens-asc">shortest first</option>
            {set === "training" ? (
              <>
                <option value="reward-desc">highest reward</option>
                <option value="reward-asc">lowest reward</option>
              </>
            ) : null}
          </select>
        </label>
        <button type="button" class="plain" onClick={() => route.replaceQuery(new URLSearchParams())}>
          clear
        </button>
      </form>
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined ? (
        problem === undefined ? (
          <Loading what="the rollouts" />
        ) : null
      ) : (
        <section aria-label="Rollouts found" class="panel">
          <p aria-live="polite" class="found">
            <strong>{count(data.total)}</strong> rollouts <span class="muted">in {data.milliseconds} ms</span>
          </p>
          <p class="key">
            {family === undefined
              ? null
              : Object.entries(data.codes).map(([code, n]) => (
                  <button
                    type="button"
                    key={code}
                    class="chip"
                    style={{ "--code": codeColour(family, code) }}
                    aria-pressed={query.get("code") === code}
                    onClick={() => change("code", query.get("code") === code ? "" : code)}
                  >
                    {code} <span>{count(n)}</span> <span class="muted">{percent(n / Math.max(1, data.total), 0)}</span>
                  </button>
                ))}
          </p>
          {data.rows.length === 0 ? (
            <Empty title="Nothing passes this filter">
              <p>Take a condition away, or look at the other set. A stage's rollouts are here once its training or evaluation is done.</p>
            </Empty>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
            <section class="scroll" tabIndex={0} aria-label="Rollouts">
              <table class="rollouts">
                <thead>
                  <tr>
                    <th scope="col">rollout</th>
                    <th scope="col">stage</th>
                    {set === "training" ? <th scope="col">step</th> : null}
                    <th scope="col">{family?.stratumLabel}</th>
                    <th scope="col">agents</th>
                    <th scope="col">verdict</th>
                    {set === "training" ? <th scope="col">reward</th> : null}
                    <th scope="col">tokens</th>
                  </tr>
                </thead>
                <tbody>
                  {data.rows.map((r) => (
                    <tr key={r.id}>
                      <th scope="row">
                        <a href={href("run", run, "rollout", set, r.stage, r.id)}>{r.id}</a>
                      </th>
                      <td>{r.stage}</td>
                      {set === "training" ? <td>{r.step}</td> : null}
                      <td>{r.stratum}</td>
                      <td>{r.agents ?? "–"}</td>
                      <td>
                        {r.failure !== null || r.code === null ? (
                          <span class="muted">{r.failure ?? "no verdict"}</span>
                        ) : (
                          <span class="chip" style={family === undefined ? {} : { "--code": codeColour(family, r.code) }}>
                            {r.code}
                            {r.optimal ? ", optimal" : ""}
                          </span>
                        )}
                      </td>
                      {set === "training" ? <td>{r.reward === null ? "–" : r.reward.toFixed(3)}</td> : null}
                      <td>{r.tokens}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )}
          <nav class="pages" aria-label="Pages">
            <button type="button" disabled={offset === 0} onClick={() => change("offset", offset <= PAGE ? "" : String(offset - PAGE))}>
              ← earlier
            </button>
            <span>
              {data.total === 0 ? "0" : `${count(offset + 1)} to ${count(Math.min(data.total, offset + PAGE))}`} of {count(data.total)}
            </span>
            <button type="button" disabled={offset + PAGE >= data.total} onClick={() => change("offset", String(offset + PAGE))}>
              later →
            </button>
          </nav>
          <details class="numbers" open>
            <summary>The query (DuckDB)</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
            <pre class="sql" tabIndex={0}>
              {data.sql}
            </pre>
          </details>
        </section>
      )}
    </>
  );
}
