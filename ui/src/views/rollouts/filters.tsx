/** The conditions of the rollouts view; each is one value in the address. */
import type { RunDetail } from "../../../../src/ui/records.js";
import { byNumber } from "../../format.js";
import { route } from "../../route.js";

export interface FilterProps {
  query: URLSearchParams;
  /** An empty value takes the condition away. */
  change: (values: Record<string, string>) => void;
}

export function Filters({ run, query, change }: FilterProps & { run: RunDetail | undefined }) {
  const set = query.get("set") ?? "validation";
  const family = run?.family;
  const strata = Object.keys(run?.report.base?.by_size ?? run?.stages[0]?.requested ?? {}).sort(byNumber);
  const agents = Object.keys(run?.report.base?.by_tag ?? {}).flatMap((t) => (t.startsWith("agents=") ? [t.slice(7)] : []));
  const bound = (name: string, label: string) => (
    <label>
      {label}
      <input
        type="number"
        step="0.05"
        min="0"
        max="1"
        value={query.get(name) ?? ""}
        onInput={(e) => change({ [name]: e.currentTarget.value })}
      />
    </label>
  );
  const select = (name: string, label: string, values: readonly (string | number)[], all: string) => (
    <label>
      {label}
      <select value={query.get(name) ?? ""} onChange={(e) => change({ [name]: e.currentTarget.value })}>
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
    <form class="row-form filters" onSubmit={(e) => e.preventDefault()} aria-label="Filter">
      <label>
        set
        <select value={set} onChange={(e) => change({ set: e.currentTarget.value })}>
          <option value="validation">validation</option>
          <option value="training">training</option>
        </select>
      </label>
      {select("stage", "stage", run?.stages.map((s) => s.index) ?? [], "all")}
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
            change({ order, direction });
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
      {query.get("instance") === null ? null : (
        <div class="field">
          instance
          <button
            type="button"
            class="chip"
            aria-label={`Take away: instance ${query.get("instance")}`}
            onClick={() => change({ instance: "" })}
          >
            {query.get("instance")} <span aria-hidden="true">✕</span>
          </button>
        </div>
      )}
      <button type="button" class="plain" onClick={() => route.replaceQuery(new URLSearchParams())}>
        clear
      </button>
    </form>
  );
}
