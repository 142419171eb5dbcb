/** What passes the filter: counts by code, a page of rollouts, each with its link. */
import type { FamilyFacts, RolloutPage } from "../../../../src/ui/records.js";
import { codeColour, count, percent } from "../../format.js";
import { Empty } from "../../parts.js";
import { href } from "../../route.js";
import type { FilterProps } from "./filters.js";

/** Rollouts of a page. */
export const PAGE = 50;

interface FoundProps extends FilterProps {
  run: string;
  family: FamilyFacts | undefined;
  page: RolloutPage;
}

export function Found({ run, family, page, query, change }: FoundProps) {
  const offset = Number(query.get("offset") ?? 0);
  return (
    <section aria-label="Rollouts found" class="panel">
      <p aria-live="polite" class="found">
        <strong>{count(page.total)}</strong> {page.total === 1 ? "rollout" : "rollouts"}{" "}
        <span class="muted">in {page.milliseconds} ms</span>
      </p>
      <p class="key">
        {family === undefined
          ? null
          : Object.entries(page.codes).map(([code, n]) => (
              <button
                type="button"
                key={code}
                class="chip"
                style={{ "--code": codeColour(family, code) }}
                aria-pressed={query.get("code") === code}
                onClick={() => change({ code: query.get("code") === code ? "" : code })}
              >
                {code} <span>{count(n)}</span> <span class="muted">{percent(n / Math.max(1, page.total), 0)}</span>
              </button>
            ))}
      </p>
      {page.rows.length === 0 ? (
        <Empty title="Nothing passes this filter">
          <p>Take a condition away, or look at the other set. A stage's rollouts are here once its training or evaluation is done.</p>
        </Empty>
      ) : (
        <Rows run={run} family={family} page={page} set={query.get("set") ?? "validation"} />
      )}
      <nav class="pages" aria-label="Pages">
        <button type="button" disabled={offset === 0} onClick={() => change({ offset: offset <= PAGE ? "" : String(offset - PAGE) })}>
          ← earlier
        </button>
        <span>
          {page.total === 0 ? "0" : `${count(offset + 1)} to ${count(Math.min(page.total, offset + PAGE))}`} of {count(page.total)}
        </span>
        <button type="button" disabled={offset + PAGE >= page.total} onClick={() => change({ offset: String(offset + PAGE) })}>
          later →
        </button>
      </nav>
    </section>
  );
}

function Rows({ run, family, page, set }: Pick<FoundProps, "run" | "family" | "page"> & { set: string }) {
  const training = set === "training";
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label="Rollouts">
      <table class="rollouts">
        <thead>
          <tr>
            <th scope="col">rollout</th>
            <th scope="col">stage</th>
            {training ? <th scope="col">step</th> : null}
            <th scope="col">{family?.stratumLabel}</th>
            <th scope="col">agents</th>
            <th scope="col">verdict</th>
            {training ? <th scope="col">reward</th> : null}
            <th scope="col">tokens</th>
          </tr>
        </thead>
        <tbody>
          {page.rows.map((r) => (
            <tr key={r.id}>
              <th scope="row">
                <a href={href("run", run, "rollout", set, r.stage, r.id)}>{r.id}</a>
              </th>
              <td>{r.stage}</td>
              {training ? <td>{r.step}</td> : null}
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
              {training ? <td>{r.reward === null ? "–" : r.reward.toFixed(3)}</td> : null}
              <td>{r.tokens}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
