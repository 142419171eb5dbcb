/** The page: a frame with its navigation, and the view that the address names. */
import { render } from "preact";
import { useEffect } from "preact/hooks";
import type { Meta } from "../../src/ui/records.js";
import { useApi } from "./api.js";
import { href, route, useRoute } from "./route.js";
import "./style/index.css";
import { BenchmarksView } from "./views/benchmarks.js";
import { CompareView } from "./views/compare.js";
import { ExperimentsView } from "./views/experiments.js";
import { RolloutView } from "./views/rollout.js";
import { RolloutsView } from "./views/rollouts/rollouts.js";
import { RunView } from "./views/run.js";
import { RunsView } from "./views/runs.js";
import { StageView } from "./views/stage/stage.js";

const AREAS = [
  ["runs", "Runs"],
  ["experiments", "Experiments"],
  ["benchmarks", "Benchmarks"],
] as const;

function App() {
  const at = useRoute();
  const meta = useApi<Meta>("meta");
  const [view, run, part, ...rest] = at.parts;
  const area = view === "experiments" || view === "benchmarks" ? view : "runs";
  useEffect(() => {
    document.querySelector("main")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [at.parts.join("/")]);
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: a skip link is a link; the hash itself belongs to the routes */}
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.querySelector("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="frame">
        <a class="brand" href={href("runs")}>
          <img src="./icon.svg" alt="" width="26" height="26" /> Envwright
        </a>
        <nav aria-label="Areas">
          {AREAS.map(([name, label]) => (
            <a key={name} href={href(name)} aria-current={area === name ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <span class="where muted" title="The folder that is served">
          {meta.data?.root}
          {meta.data?.actions ? " · actions allowed" : ""}
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        {view === "compare" ? (
          <CompareView ids={at.list("runs")} />
        ) : view === "experiments" ? (
          <ExperimentsView />
        ) : view === "benchmarks" ? (
          <BenchmarksView />
        ) : view === "run" && run !== undefined ? (
          part === "stage" ? (
            <StageView key={`${run}/${rest[0]}`} run={run} stage={Number(rest[0])} actions={meta.data?.actions ?? false} />
          ) : part === "rollouts" ? (
            <RolloutsView key={run} run={run} />
          ) : part === "rollout" ? (
            <RolloutView key={at.parts.join("/")} run={run} set={rest[0] ?? "validation"} stage={rest[1] ?? "0"} id={rest[2] ?? ""} />
          ) : (
            <RunView key={run} run={run} />
          )
        ) : (
          <RunsView root={meta.data?.root ?? "runs"} />
        )}
      </main>
    </>
  );
}

route.start();
render(<App />, document.getElementById("app")!);
