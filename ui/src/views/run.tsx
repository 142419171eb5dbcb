/** One run: the loop as a picture that moves, and what it comes to. Follows the event stream; reads the records again when a phase ends. */
import { useEffect, useState } from "preact/hooks";
import type { RunDetail, RunState, StepPoint } from "../../../src/ui/records.js";
import { type Connection, useApi, useRunEvents, useSoon } from "../api.js";
import { Score } from "../charts/score/score.js";
import { byNumber, count, duration, knobLabel, percent, points, tokens } from "../format.js";
import { Lost, NotYet, Numbers, Outcome, State } from "../parts.js";
import { PHASES, type Phase, type RunEvent } from "../phases.js";
import { href } from "../route.js";

interface Live {
  stage: number;
  phase: Phase | undefined;
  done: number;
  total: number;
  steps: StepPoint[];
  seconds: number | undefined;
  warnings: string[];
}
const QUIET: Live = { stage: 0, phase: undefined, done: 0, total: 0, steps: [], seconds: undefined, warnings: [] };

export function RunView({ run }: { run: string }) {
  const { data, problem, reload } = useApi<RunDetail>(`runs/${encodeURIComponent(run)}`);
  const [live, setLive] = useState<Live>(QUIET);
  const [state, setState] = useState<RunState | undefined>();
  const soon = useSoon(reload);
  const connection = useRunEvents(run, data?.offset, {
    event: (event) => {
      setLive((old) => fold(old, event));
      if (!["progress", "step", "phase-started"].includes(event.type)) soon();
    },
    state: (word) => {
      setState(word === "running" || word === "waiting" ? word : undefined);
      soon();
    },
    again: soon,
  });
  useEffect(() => setState(undefined), [data?.state]);
  if (data === undefined) return <NotYet title={run} what="the run" problem={problem} retry={reload} />;
  const { report } = data;
  const at = live === QUIET && data.now !== null ? { ...QUIET, ...data.now } : live;
  const shownState = state ?? data.state;
  const going = shownState === "running" || shownState === "waiting";
  const known = new Set(data.steps.map((s) => `${s.stage}/${s.step}`));
  const steps = [...data.steps, ...live.steps.filter((s) => !known.has(`${s.stage}/${s.step}`))];
  const newest = data.stages.at(-1)?.index;
  const gain = report.held_out?.gain.valid ?? report.gain?.valid;
  const now = going ? { stage: at.phase === undefined ? (newest ?? 0) : at.stage, phase: at.phase } : undefined;
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={href("runs")}>Runs</a> <span aria-hidden="true">/</span> {run}
      </nav>
      <div class="title-line">
        <h1>{run}</h1>
        <State state={shownState} />
        <span class="grow" />
        <a class="button quiet" href={href("run", run, "rollouts")}>
          Instances and rollouts
        </a>
      </div>
      <p class="lede">
        {report.run.description === "" ? report.run.name : report.run.description}{" "}
        <span class="muted">
          Engineer {report.run.engineer}, {report.run.variant}; seed {report.run.seed}; objective{" "}
          {report.run.objective.replaceAll("_", " ")}.
        </span>
      </p>
      <Notices
        data={data}
        state={shownState}
        connection={connection}
        going={going}
        problem={problem === undefined ? undefined : problem.error}
        warnings={live.warnings}
        newest={newest}
      />
      {going ? <Loop live={at} planned={report.run.stages.planned} /> : null}
      <section class="tiles" aria-label="At a glance">
        <Tile
          label="valid, last checkpoint"
          value={percent(report.stages.findLast((s) => s.validation !== undefined)?.validation?.valid.rate ?? report.base?.valid.rate)}
          note={report.base === undefined ? "" : `base ${percent(report.base.valid.rate)}`}
        />
        <Tile
          label={report.held_out === undefined ? "gain, validation set" : "gain, held-out boards"}
          value={gain === undefined ? "–" : `${points(gain.difference)} points`}
          note={
            gain === undefined
              ? "not known yet"
              : `95 % CI ${points(gain.interval[0])} to ${points(gain.interval[1])}, paired on ${count(gain.n)} boards`
          }
        />
        <Tile
          label="best checkpoint"
          value={report.best === undefined ? "–" : percent(report.best.valid)}
          note={report.best === undefined ? "" : report.best.checkpoint === 0 ? "the base" : `checkpoint ${report.best.checkpoint}`}
        />
        <Tile
          label="trained on"
          value={tokens(report.stages.reduce((sum, s) => sum + (s.tokens?.stage ?? 0), 0))}
          note={`tokens, ${report.run.stages.finished} of ${report.run.stages.planned} stages`}
        />
      </section>
      <section class="panel">
        <h2>The loop, stage by stage</h2>
        <Score run={data} steps={steps} now={now} />
        <p class="muted small">
          Lines are checkpoints, the spaces between them are stages; rates are in per cent. A cell of the config shows what was asked, in
          per cent; the bar at its foot is what the generator realised; ▴ and ▾ mark a change.
        </p>
        <Tables data={data} />
      </section>
      <section class="panel">
        <h2>Stages</h2>
        <ol class="stages">
          {report.stages.map((stage) => (
            <li key={stage.index}>
              <a href={href("run", run, "stage", stage.index)}>Stage {stage.index}</a>
              <span>
                {stage.validation === undefined ? (
                  <span class="muted">not validated yet</span>
                ) : (
                  <>valid {percent(stage.validation.valid.rate)}</>
                )}
              </span>
              <span class="muted">
                {stage.provenance.source === "initial"
                  ? "first config"
                  : `config by ${stage.provenance.engineer ?? stage.provenance.source}`}
              </span>
              {stage.proposal === undefined ? <span class="muted">no proposal</span> : <Outcome outcome={stage.proposal.outcome} />}
            </li>
          ))}
        </ol>
        {report.stages.length === 0 ? <p class="muted">The first stage has not begun.</p> : null}
      </section>
    </>
  );
}

function Notices(props: {
  data: RunDetail;
  state: RunState;
  connection: Connection;
  going: boolean;
  problem: string | undefined;
  warnings: string[];
  newest: number | undefined;
}) {
  const { data, state, connection, going, newest } = props;
  return (
    <div aria-live="polite">
      <Lost connection={connection} />
      {state === "failed" ? (
        <p class="notice bad">
          {data.problem ?? "The run failed."} Go on with it: <code>{data.resume}</code>
        </p>
      ) : null}
      {state === "interrupted" ? (
        <p class="notice">
          The run was stopped; what is done is kept. Go on with it: <code>{data.resume}</code>
        </p>
      ) : null}
      {state === "waiting" && newest !== undefined ? (
        <p class="notice ask">
          The run waits for a person. <a href={href("run", data.id, "stage", newest)}>Answer in stage {newest}</a>
        </p>
      ) : null}
      {going && props.warnings.length > 0 ? <p class="notice">{props.warnings.at(-1)}</p> : null}
    </div>
  );
}

function Tile({ label, value, note }: { label: string; value: string; note: string }) {
  return (
    <div class="tile">
      <span class="tile-label">{label}</span>
      <strong>{value}</strong>
      <span class="muted small">{note}</span>
    </div>
  );
}

/** The five phases as a ring laid flat: where the run is now. */
function Loop({ live, planned }: { live: Live; planned: number }) {
  const share = live.total > 0 ? live.done / live.total : 0;
  return (
    <section class="loop" aria-label="Where the run is">
      <span class="loop-stage">
        stage {live.stage} <span class="muted">of {planned}</span>
      </span>
      <ol>
        {PHASES.map((phase) => (
          <li key={phase} class={phase === live.phase ? "on" : ""} aria-current={phase === live.phase ? "step" : undefined}>
            <span>{phase}</span>
            {phase === live.phase && live.total > 0 ? (
              <progress max={1} value={share} aria-label={`${phase}: ${live.done} of ${live.total}`} />
            ) : null}
          </li>
        ))}
      </ol>
      <span class="muted small loop-note">
        {live.phase !== undefined && live.total > 0 ? `${count(live.done)} of ${count(live.total)}` : ""}
        {live.seconds !== undefined && live.phase === "train" && live.total > live.done
          ? `, about ${duration((live.total - live.done) * live.seconds)} left in this stage`
          : ""}
      </span>
    </section>
  );
}

function Tables({ data }: { data: RunDetail }) {
  const { report, family } = data;
  const checkpoints = [report.base, ...report.stages.map((s) => s.validation)].flatMap((v, c) => (v === undefined ? [] : [{ c, v }]));
  const strata = Object.keys(report.base?.by_size ?? checkpoints[0]?.v.by_size ?? {}).sort(byNumber);
  const codes = family.failureCodes.map((c) => c.code);
  return (
    <div class="tables">
      <Numbers
        label="Rates"
        head={[
          "checkpoint",
          "n",
          "valid",
          "95 % of valid",
          "optimal",
          "95 % of optimal",
          ...["valid", "optimal"].flatMap((rate) => strata.map((s) => `${rate}, ${family.stratumLabel} ${s}`)),
        ]}
        rows={checkpoints.map(({ c, v }) => [
          c === 0 ? "base" : c,
          v.n,
          percent(v.valid.rate),
          v.valid.interval.map((x) => percent(x)).join(" to "),
          percent(v.optimal.rate),
          v.optimal.interval.map((x) => percent(x)).join(" to "),
          ...strata.map((s) => percent(v.by_size[s]?.valid.rate)),
          ...strata.map((s) => percent(v.by_size[s]?.optimal.rate)),
        ])}
      />
      <Numbers
        label="Configs"
        head={[
          "stage",
          family.stratumLabel,
          ...family.knobs.flatMap((k) => [`${knobLabel(k.name)} asked`, `${knobLabel(k.name)} realised`]),
        ]}
        rows={data.stages.flatMap((s) =>
          Object.keys(s.requested)
            .sort(byNumber)
            .map((x) => [
              s.index,
              x,
              ...family.knobs.flatMap((k) => [percent(s.requested[x]?.[k.name]), percent(s.realised[x]?.[k.name])]),
            ]),
        )}
      />
      <Numbers
        label="Failures"
        head={["checkpoint", ...codes]}
        rows={checkpoints.map(({ c, v }) => [c === 0 ? "base" : c, ...codes.map((code) => v.codes[code] ?? 0)])}
      />
    </div>
  );
}

function fold(live: Live, event: RunEvent): Live {
  switch (event.type) {
    case "run-started":
      return QUIET;
    case "phase-started":
      return { ...live, stage: event.stage, phase: event.phase, done: 0, total: 0 };
    case "progress":
      return { ...live, stage: event.stage, phase: event.phase, done: event.done, total: event.total };
    case "phase-finished":
      return { ...live, phase: undefined, done: 0, total: 0 };
    case "warning":
      return { ...live, warnings: [...live.warnings.slice(-4), event.message] };
    case "step": {
      const { metrics: m, stage, step } = event;
      const point = {
        stage,
        step,
        reward: m.reward ?? 0,
        accuracy: m["rewards/accuracy"] ?? 0,
        length: m["rewards/length"] ?? 0,
        weight: m.accuracy_weight ?? 0,
        valid: m.valid ?? 0,
        entropy: m.entropy ?? null,
      };
      return { ...live, stage, seconds: event.seconds, steps: [...live.steps.slice(-2000), point] };
    }
    default:
      return live;
  }
}
