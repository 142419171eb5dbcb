/** Instances and rollouts by filter, and the query under it. Filter and query are in the address. */
import { useCallback, useEffect, useMemo } from "preact/hooks";
import type { RolloutPage, RunDetail } from "../../../../src/ui/records.js";
import { useApi, useRunEvents, useSoon } from "../../api.js";
import { Loading, Problem } from "../../parts.js";
import { href, route, useRoute } from "../../route.js";
import { Filters } from "./filters.js";
import { Found, PAGE } from "./found.js";
import { SqlBox } from "./sql-box.js";

export function RolloutsView({ run }: { run: string }) {
  const { query } = useRoute();
  const detail = useApi<RunDetail>(`runs/${encodeURIComponent(run)}`);
  const asked = useMemo(() => {
    const q = new URLSearchParams(query);
    q.delete("sql");
    if (!q.has("set")) q.set("set", "validation");
    q.set("limit", String(PAGE));
    return q.toString();
  }, [query]);
  const { data, problem, reload } = useApi<RolloutPage>(`runs/${encodeURIComponent(run)}/rollouts?${asked}`);
  const soon = useSoon(
    useCallback(() => {
      detail.reload();
      reload();
    }, [detail.reload, reload]),
  );
  useRunEvents(run, detail.data?.offset, {
    event: ({ type }) => {
      if (type === "phase-finished") soon();
    },
    state: () => {},
    again: soon,
  });
  /** Another filter asks another query: a free one goes. */
  const change = (values: Record<string, string>): void => {
    const q = new URLSearchParams(query);
    q.delete("sql");
    if (!("offset" in values)) q.delete("offset");
    for (const [name, value] of Object.entries(values)) {
      if (value === "") q.delete(name);
      else q.set(name, value);
    }
    route.replaceQuery(q);
  };
  useEffect(() => {
    document.title = `Rollouts · ${run} · Envwright`;
    return () => {
      document.title = "Envwright";
    };
  }, [run]);
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={href("runs")}>Runs</a> <span aria-hidden="true">/</span> <a href={href("run", run)}>{run}</a>{" "}
        <span aria-hidden="true">/</span> rollouts
      </nav>
      <h1>Instances and rollouts</h1>
      <Filters run={detail.data} query={query} change={change} />
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined ? (
        problem === undefined ? (
          <Loading what="the rollouts" />
        ) : null
      ) : (
        <>
          {data.sql === "" ? null : <SqlBox run={run} page={data} query={query} />}
          <Found run={run} family={detail.data?.family} page={data} query={query} change={change} />
        </>
      )}
    </>
  );
}
