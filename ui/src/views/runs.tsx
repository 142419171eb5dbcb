/** All runs of the folder: is it improving, who engineers, does it still go on. Ticked runs are compared. */
import { useState } from "preact/hooks";
import type { RunEntry } from "../../../src/ui/records.js";
import { useApi } from "../api.js";
import { Sparkline } from "../charts/sparkline.js";
import { ago, percent, points } from "../format.js";
import { Empty, NotYet, Problem, State } from "../parts.js";
import { href } from "../route.js";

const LIVE_MS = 3000;

export function RunsView({ root }: { root: string }) {
  const { data, problem, reload } = useApi<RunEntry[]>("runs", LIVE_MS);
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const [filter, setFilter] = useState("");
  if (data === undefined) return <NotYet title="Runs" what="the runs" problem={problem} retry={reload} />;
  if (data.length === 0) {
    return (
      <>
        <h1>Runs</h1>
        <Empty title="No run here yet">
          <p>
            <code>{root}</code> holds no run. Start one and it appears here while it goes on:
          </p>
          <pre>envwright run smoke --out {root === "runs" ? "runs/smoke" : `${root}/smoke`}</pre>
          <p>
            Runs somewhere else? Serve their folder: <code>envwright ui DIR</code>.
          </p>
        </Empty>
      </>
    );
  }
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = data.filter((r) =>
    words.every((w) => `${r.id} ${r.recipe} ${r.engineer} ${r.variant} ${r.state} seed ${r.seed}`.toLowerCase().includes(w)),
  );
  const tick = (id: string, on: boolean): void => setTicked(on ? [...ticked, id] : ticked.filter((t) => t !== id));
  return (
    <>
      <div class="title-line">
        <h1>Runs</h1>
        <label class="find">
          <span class="hidden">Find runs</span>
          <input
            type="search"
            placeholder="Find: engineer, recipe, state …"
            value={filter}
            onInput={(e) => setFilter(e.currentTarget.value)}
          />
        </label>
      </div>
      {problem === undefined ? null : <Problem problem={problem} />}
      <ul class="runs">
        {shown.map((run) => (
          <li key={run.id} class={`run-card ${run.state}`}>
            <input
              type="checkbox"
              aria-label={`Compare ${run.id}`}
              checked={ticked.includes(run.id)}
              disabled={run.valid.length === 0}
              onChange={(e) => tick(run.id, e.currentTarget.checked)}
            />
            <div class="run-name">
              <a href={href("run", run.id)}>{run.id}</a>
              <State state={run.state} />
            </div>
            {run.problem === null ? null : <p class="run-problem">{run.problem}</p>}
            {run.recipe === "" ? null : (
              <>
                <dl class="facts">
                  <div>
                    <dt>engineer</dt>
                    <dd>
                      {run.engineer} <span class="muted">{run.variant}</span>
                    </dd>
                  </div>
                  <div>
                    <dt>recipe</dt>
                    <dd>
                      {run.recipe} <span class="muted">seed {run.seed}</span>
                    </dd>
                  </div>
                  <div>
                    <dt>stages</dt>
                    <dd>
                      {run.stages.finished} <span class="muted">of {run.stages.planned}</span>
                    </dd>
                  </div>
                </dl>
                <Sparkline values={run.valid} label={`Valid rate by checkpoint: ${run.valid.map((v) => percent(v)).join(", ")}`} />
                <dl class="facts rates">
                  <div>
                    <dt>best</dt>
                    <dd>{percent(run.best)}</dd>
                  </div>
                  <div>
                    <dt>last valid</dt>
                    <dd class="big">{percent(run.last)}</dd>
                  </div>
                  <div>
                    <dt>over base</dt>
                    <dd>
                      {run.valid.length > 1 ? (
                        <>
                          {points(run.last! - run.valid[0]!)} <span class="muted small">points</span>
                        </>
                      ) : (
                        "–"
                      )}
                    </dd>
                  </div>
                </dl>
                <span class="muted when">{ago(run.updated)}</span>
              </>
            )}
          </li>
        ))}
      </ul>
      {shown.length === 0 ? (
        <p class="muted">
          No run has all of these words.{" "}
          <button type="button" class="plain" onClick={() => setFilter("")}>
            Show all {data.length}
          </button>
        </p>
      ) : null}
      <div class="compare-bar" aria-live="polite">
        {ticked.length === 0 ? (
          <span class="muted">Tick two or more runs to compare them.</span>
        ) : ticked.length === 1 ? (
          <span>1 run ticked; tick another one.</span>
        ) : (
          <a class="button" href={`${href("compare")}?runs=${ticked.map(encodeURIComponent).join(",")}`}>
            Compare {ticked.length} runs
          </a>
        )}
        {ticked.length > 0 ? (
          <button type="button" class="plain" onClick={() => setTicked([])}>
            clear
          </button>
        ) : null}
      </div>
    </>
  );
}
