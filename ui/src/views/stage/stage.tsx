/**
 * One stage: what the engineer was given, what it answered, what changed and on which evidence. Follows the event stream while the run goes on.
 * With actions allowed the engineer can be asked again, and a run that waits for a person gets its answer here.
 */
import { useEffect } from "preact/hooks";
import type { StageDetail } from "../../../../src/ui/records.js";
import { useApi, useRunEvents, useSoon } from "../../api.js";
import { Lost, NotYet, Outcome } from "../../parts.js";
import { href } from "../../route.js";
import { AskAgain } from "./ask-again.js";
import { Changes } from "./changes.js";
import { Evidence } from "./evidence.js";
import { HumanForm } from "./human-form.js";
import { Texts } from "./texts.js";

/** Events that change no record of a stage. */
const PASSING = ["progress", "step", "phase-started", "log", "warning"];

export function StageView({ run, stage, actions }: { run: string; stage: number; actions: boolean }) {
  const path = `runs/${encodeURIComponent(run)}/stages/${stage}`;
  const { data, problem, reload } = useApi<StageDetail>(path);
  const soon = useSoon(reload);
  const connection = useRunEvents(run, data?.offset, {
    event: (event) => {
      if (!PASSING.includes(event.type)) soon();
    },
    state: soon,
    again: soon,
  });
  useEffect(() => {
    document.title = `Stage ${stage} · ${run} · Envwright`;
    return () => {
      document.title = "Envwright";
    };
  }, [run, stage]);
  if (data === undefined) return <NotYet title={`Stage ${stage}`} what="the stage" problem={problem} retry={reload} />;
  const last = data.stages.at(-1) ?? stage;
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={href("runs")}>Runs</a> <span aria-hidden="true">/</span> <a href={href("run", run)}>{run}</a>{" "}
        <span aria-hidden="true">/</span> stage {stage}
      </nav>
      <div class="title-line">
        <h1>Stage {stage}</h1>
        {data.proposal === null ? null : <Outcome outcome={data.proposal.outcome} />}
        <span class="grow" />
        <nav class="steps" aria-label="Stages">
          {stage > (data.stages[0] ?? 0) ? (
            <a class="button quiet" href={href("run", run, "stage", stage - 1)}>
              ← stage {stage - 1}
            </a>
          ) : null}
          {stage < last ? (
            <a class="button quiet" href={href("run", run, "stage", stage + 1)}>
              stage {stage + 1} →
            </a>
          ) : null}
          <a class="button quiet" href={`${href("run", run, "rollouts")}?set=training&stage=${stage}`}>
            its rollouts
          </a>
        </nav>
      </div>
      <Lost connection={connection} />
      {data.human === null ? null : <HumanForm data={data} actions={actions} path={path} done={soon} />}
      <Changes data={data} />
      <Evidence data={data} />
      <Texts data={data} />
      <AskAgain data={data} path={path} actions={actions} />
    </>
  );
}
