/**
 * One stage: what the engineer was given, what it answered, what changed and on which evidence. Everything a model wrote is text. With
 * actions allowed the engineer can be asked again, and a run that waits for a person gets its answer here.
 */
import { useEffect, useState } from "preact/hooks";
import type { KnobTable } from "../../../src/core/records.js";
import type { ReproposeAnswer, StageDetail } from "../../../src/ui/records.js";
import { type ApiError, ask, useApi } from "../api.js";
import { byNumber, codeColour, count, knobLabel, percent } from "../format.js";
import { DataTable, Loading, Outcome, Problem } from "../parts.js";
import { href } from "../route.js";

export function StageView({ run, stage, actions }: { run: string; stage: number; actions: boolean }) {
  const path = `runs/${encodeURIComponent(run)}/stages/${stage}`;
  const { data, problem, reload } = useApi<StageDetail>(path);
  const open = data !== undefined && data.proposal === null;
  useEffect(() => {
    if (!open) return;
    const timer = setInterval(reload, 1500);
    return () => clearInterval(timer);
  }, [open, reload]);
  if (data === undefined) return problem === undefined ? <Loading what="the stage" /> : <Problem problem={problem} retry={reload} />;
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
      {data.human === null ? null : <HumanForm data={data} actions={actions} path={path} done={reload} />}
      <Changes data={data} />
      <Evidence data={data} />
      <Texts data={data} />
      <Repropose data={data} path={path} actions={actions} />
    </>
  );
}

function Changes({ data }: { data: StageDetail }) {
  const { proposal, changes, family } = data;
  if (proposal === null) {
    return (
      <section class="panel">
        <h2>The next config</h2>
        <p class="muted">
          {data.human !== null
            ? "It is yours to write, above."
            : data.validation === null
              ? "The stage is not evaluated yet; the engineer is asked after that."
              : "The last stage has no proposal, or the engineer has not answered yet."}
        </p>
      </section>
    );
  }
  const moved = changes.filter((c) => Math.abs(c.from - c.to) > 1e-9);
  return (
    <section class="panel">
      <h2>What changes for stage {data.index + 1}</h2>
      <p>
        <strong>{proposal.engineer}</strong>{" "}
        <span class="muted">
          {proposal.variant}, asked {proposal.attempts.length === 1 ? "once" : `${proposal.attempts.length} times`}
        </span>
        : {moved.length === 0 ? "no knob changes." : `${moved.length} ${moved.length === 1 ? "knob changes" : "knobs change"}.`}
      </p>
      {proposal.rationale === "" ? null : <blockquote class="model-text">{proposal.rationale}</blockquote>}
      {proposal.reasons.length === 0 ? null : (
        <ul class="reasons">
          {proposal.reasons.map((r) => (
            <li key={r}>{r}</li>
          ))}
        </ul>
      )}
      {changes.length === 0 ? null : (
        <ul class="changes">
          {changes.map((c) => {
            const up = c.to > c.from;
            const same = Math.abs(c.from - c.to) < 1e-9;
            return (
              <li key={`${c.stratum}/${c.knob}`}>
                <span class="change-name">
                  {family.stratumLabel} {c.stratum} · <strong>{knobLabel(c.knob)}</strong>
                </span>
                <span class={`delta ${same ? "" : up ? "up" : "down"}`}>
                  {percent(c.from, 0)} <span aria-hidden="true">{same ? "=" : up ? "↗" : "↘"}</span>
                  <span class="hidden">{same ? "stays" : up ? "rises to" : "falls to"}</span> <strong>{percent(c.to, 0)}</strong>
                </span>
                <span class="evidence">
                  {c.evidence.length === 0 ? (
                    <span class="muted">
                      valid {percent(c.valid)}
                      {c.valid_in_training === null ? "" : `, in training ${percent(c.valid_in_training)}`}
                    </span>
                  ) : (
                    c.evidence.map((e) => (
                      <span key={e.code} class="chip" style={{ "--code": codeColour(family, e.code) }}>
                        {e.code} {count(e.count)} <span class="muted">of {count(e.n)}</span>
                      </span>
                    ))
                  )}
                </span>
                {c.marks.map((m) => (
                  <span key={m} class="mark">
                    <span aria-hidden="true">⚒</span> repaired: {m}
                  </span>
                ))}
              </li>
            );
          })}
        </ul>
      )}
      {proposal.repairs.length === 0 && proposal.guardrails.length === 0 ? null : (
        <>
          <h3>Repairs and guardrails</h3>
          <ul class="reasons">
            {proposal.repairs.map((r) => (
              <li key={r.path}>
                <code>{r.path}</code>: {r.reason} (<code>{JSON.stringify(r.from)}</code> → <code>{JSON.stringify(r.to)}</code>)
              </li>
            ))}
            {proposal.guardrails.map((g) => (
              <li key={g.guardrail}>
                <strong>{g.guardrail}</strong>: {g.reason}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Evidence({ data }: { data: StageDetail }) {
  const { validation, family, training } = data;
  if (validation === null) return null;
  const strata = Object.keys(validation).sort(byNumber);
  const codes = family.failureCodes.map((c) => c.code).filter((code) => strata.some((s) => (validation[s]?.codes[code] ?? 0) > 0));
  return (
    <section class="panel">
      <h2>Where the policy fails after this stage</h2>
      <ul class="failure-bars">
        {strata.map((s) => {
          const cell = validation[s]!;
          return (
            <li key={s}>
              <span class="bar-name">
                {family.stratumLabel} {s}
              </span>
              <span class="bar" aria-hidden="true">
                <span class="piece valid" style={{ "--share": `${100 * cell.valid.rate}%` }} />
                {codes.map((code) => (
                  <span
                    key={code}
                    class="piece"
                    title={`${code} ${cell.codes[code] ?? 0}`}
                    style={{ "--share": `${(100 * (cell.codes[code] ?? 0)) / Math.max(1, cell.n)}%`, "--code": codeColour(family, code) }}
                  />
                ))}
              </span>
              <span class="bar-value">{percent(cell.valid.rate)}</span>
            </li>
          );
        })}
      </ul>
      <p class="key" aria-hidden="true">
        <span class="chip" style={{ "--code": "var(--valid)" }}>
          valid
        </span>
        {codes.map((code) => (
          <span key={code} class="chip" style={{ "--code": codeColour(family, code) }}>
            {code}
          </span>
        ))}
      </p>
      <DataTable
        label="Failures by stratum"
        head={[family.stratumLabel, "n", "valid", "optimal", ...codes, "tokens", "valid in training", "no variance"]}
        rows={strata.map((s) => {
          const cell = validation[s]!;
          const t = training?.strata[s];
          return [
            s,
            count(cell.n),
            percent(cell.valid.rate),
            percent(cell.optimal.rate),
            ...codes.map((code) =>
              (cell.codes[code] ?? 0) === 0 ? (
                "0"
              ) : (
                <a key={code} href={`${href("run", data.run, "rollouts")}?set=validation&stage=${data.index}&size=${s}&code=${code}`}>
                  {cell.codes[code]}
                </a>
              ),
            ),
            cell.tokens.toFixed(1),
            percent(t?.valid),
            percent(t?.zero_variance),
          ];
        })}
      />
    </section>
  );
}

function Texts({ data }: { data: StageDetail }) {
  const { context, proposal } = data;
  if (context === null && proposal === null) return null;
  return (
    <section class="panel">
      <h2>What the engineer was given, and what it said</h2>
      <div class="two">
        <div>
          <h3>
            Given <span class="muted">{context === null ? "" : `${count(context.length)} characters, ${data.rendering}`}</span>
          </h3>
          {context === null ? (
            <p class="muted">There is no context: this engineer is not asked in words, or not yet.</p>
          ) : (
            <ModelText text={context} label="Context" />
          )}
        </div>
        <div>
          <h3>Answered</h3>
          {proposal === null ? (
            <p class="muted">No answer yet.</p>
          ) : (
            proposal.attempts.map((a, i) => (
              <div key={i} class="attempt">
                {proposal.attempts.length > 1 ? <h4>Attempt {i + 1}</h4> : null}
                {a.error === undefined ? null : <p class="refusal">Refused: {a.error}</p>}
                {a.raw === "" ? (
                  <p class="muted">No text: this engineer computes its answer.</p>
                ) : (
                  <ModelText text={a.raw} label={`Answer ${i + 1}`} />
                )}
                {a.tokens > 0 ? <p class="muted small">{count(a.tokens)} tokens</p> : null}
              </div>
            ))
          )}
        </div>
      </div>
    </section>
  );
}

/** Compact words get a break before every stratum, for the eye alone; copied text is the exact one. */
export function ModelText({ text, label }: { text: string; label: string }) {
  const pieces = /^<\w/.test(text) ? text.split(/(?=<(?:stratum|step|current|history|propose|next)[:>])/) : [text];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="model-text" tabIndex={0} aria-label={label}>
      {pieces.map((piece, i) => (
        <span key={i} class={pieces.length > 1 ? "piece" : ""}>
          {piece}
        </span>
      ))}
    </section>
  );
}

function Repropose({ data, path, actions }: { data: StageDetail; path: string; actions: boolean }) {
  const [engineer, setEngineer] = useState("");
  const [variant, setVariant] = useState("");
  const [samples, setSamples] = useState(1);
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<ReproposeAnswer>();
  const [problem, setProblem] = useState<ApiError>();
  if (data.validation === null) return null;
  const command = `envwright propose --from ${data.run}/stages/${String(data.index).padStart(2, "0")}${engineer === "" ? "" : ` --engineer ${engineer}`}${variant === "" ? "" : ` --variant ${variant}`}${samples > 1 ? ` --samples ${samples}` : ""}`;
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      setAnswer(
        await ask<ReproposeAnswer>(`${path}/propose`, {
          ...(engineer === "" ? {} : { engineer }),
          ...(variant === "" ? {} : { variant }),
          samples,
        }),
      );
    } catch (error) {
      setProblem(error as ApiError);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="panel">
      <h2>Ask again</h2>
      <p class="muted">Another answer to the same evidence, without training and without changing the run.</p>
      <form
        class="row-form"
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
      >
        <label>
          engineer
          <select value={engineer} onChange={(e) => setEngineer(e.currentTarget.value)}>
            {["", "self", "base", "rule", "learnability", "bandit", "sliding", "hardest", "random"].map((n) => (
              <option key={n} value={n}>
                {n === "" ? "the run's own" : n}
              </option>
            ))}
          </select>
        </label>
        <label>
          variant
          <select value={variant} onChange={(e) => setVariant(e.currentTarget.value)}>
            {["", "V1", "V2", "V3", "V4", "V5", "V6"].map((n) => (
              <option key={n} value={n}>
                {n === "" ? "the run's own" : n}
              </option>
            ))}
          </select>
        </label>
        <label>
          answers
          <input
            type="number"
            min={1}
            max={5}
            value={samples}
            onInput={(e) => setSamples(Math.max(1, Math.min(5, Number(e.currentTarget.value))))}
          />
        </label>
        <button type="submit" disabled={!actions || busy}>
          {busy ? "Asking …" : "Ask"}
        </button>
      </form>
      {actions ? null : (
        <p class="small">
          This page is read-only. Start it with <code>--allow-actions</code>, or ask on the command line: <code>{command}</code>
        </p>
      )}
      <div aria-live="polite">
        {problem === undefined ? null : <Problem problem={problem.problem} />}
        {answer === undefined ? null : (
          <>
            <p>
              {answer.engineer}, {answer.variant}:{" "}
              {answer.proposals.map((p, i) => (
                <Outcome key={String(i)} outcome={p.outcome} />
              ))}
            </p>
            <DataTable
              label="Proposed knobs"
              head={[
                data.family.stratumLabel,
                "knob",
                ...answer.knobs.map((_, i) => (answer.knobs.length === 1 ? "proposed" : `answer ${i + 1}`)),
                "the run's",
              ]}
              rows={rowsOf(answer.knobs, data)}
            />
          </>
        )}
      </div>
    </section>
  );
}

function rowsOf(tables: KnobTable[], data: StageDetail): string[][] {
  const own = new Map(data.changes.map((c) => [`${c.stratum}/${c.knob}`, c.to]));
  const current = data.config.normalised as { sizes?: KnobTable };
  return Object.keys(tables[0] ?? {})
    .sort(byNumber)
    .flatMap((s) =>
      data.family.knobs.map((k) => [
        s,
        knobLabel(k.name),
        ...tables.map((t) => percent(t[s]?.[k.name])),
        percent(own.get(`${s}/${k.name}`) ?? current.sizes?.[s]?.[k.name]),
      ]),
    );
}

function HumanForm({ data, actions, path, done }: { data: StageDetail; actions: boolean; path: string; done: () => void }) {
  const human = data.human!;
  const [knobs, setKnobs] = useState<KnobTable>(human.knobs);
  const [rationale, setRationale] = useState(human.rationale);
  const [sent, setSent] = useState(false);
  const [problem, setProblem] = useState<ApiError>();
  useEffect(() => setSent(false), [human.refused]);
  const strata = Object.keys(knobs).sort(byNumber);
  const change = (s: string, k: string, text: string): void => setKnobs({ ...knobs, [s]: { ...knobs[s], [k]: Number(text) / 100 } });
  const total = (k: string): number => strata.reduce((sum, s) => sum + (knobs[s]?.[k] ?? 0), 0);
  const submit = async (): Promise<void> => {
    setProblem(undefined);
    try {
      await ask(`${path}/answer`, { rationale, knobs });
      setSent(true);
      setTimeout(done, 800);
    } catch (error) {
      setProblem(error as ApiError);
    }
  };
  return (
    <section class="panel ask-panel">
      <h2>The run waits for you</h2>
      <p>Edit the config of the next stage, or approve it as it stands. Values are in per cent; shares of the data are normalised.</p>
      {human.refused === null ? null : (
        <p class="refusal" role="alert">
          The last answer was refused: {human.refused}
        </p>
      )}
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
      >
        <div class="scroll">
          <table class="knob-form">
            <thead>
              <tr>
                <th scope="col">{data.family.stratumLabel}</th>
                {data.family.knobs.map((k) => (
                  <th key={k.name} scope="col" title={k.description}>
                    {knobLabel(k.name)}
                  </th>
                ))}
                <th scope="col">valid now</th>
              </tr>
            </thead>
            <tbody>
              {strata.map((s) => (
                <tr key={s}>
                  <th scope="row">{s}</th>
                  {data.family.knobs.map((k) => (
                    <td key={k.name}>
                      <input
                        type="number"
                        step="any"
                        min={100 * k.min}
                        max={100 * k.max}
                        required
                        aria-label={`${data.family.stratumLabel} ${s}, ${knobLabel(k.name)}, per cent`}
                        value={Number((100 * (knobs[s]?.[k.name] ?? 0)).toFixed(5))}
                        onInput={(e) => change(s, k.name, e.currentTarget.value)}
                      />
                    </td>
                  ))}
                  <td>{percent(data.validation?.[s]?.valid.rate)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {data.family.knobs
          .filter((k) => k.kind === "share")
          .map((k) => (
            <p key={k.name} class="muted small">
              {knobLabel(k.name)} adds up to {percent(total(k.name), 1)}
              {Math.abs(total(k.name) - 1) > 0.001 ? "; it will be normalised to 100 %" : ""}.
            </p>
          ))}
        <label class="block">
          Why (kept with the run)
          <textarea rows={2} value={rationale} onInput={(e) => setRationale(e.currentTarget.value)} />
        </label>
        <button type="submit" disabled={!actions || sent}>
          {sent ? "Approved; the run goes on" : "Approve for the next stage"}
        </button>
        {actions ? null : (
          <p class="small">
            This page is read-only. Start it with <code>--allow-actions</code>, or edit <code>human.yaml</code> in the stage's folder and
            set its status to approved.
          </p>
        )}
      </form>
      <div aria-live="polite">{problem === undefined ? null : <Problem problem={problem.problem} />}</div>
    </section>
  );
}
