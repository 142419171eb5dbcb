/** The stage's question asked again: another engineer, variant or sample, without training; its answers beside the proposal that was taken. */
import { useState } from "preact/hooks";
import type { Proposal } from "../../../../src/core/records.js";
import { shellWord } from "../../../../src/core/shell-word.js";
import type { ReproposeAnswer, StageDetail } from "../../../../src/ui/records.js";
import { type ApiError, ask } from "../../api.js";
import { byNumber, knobLabel, percent, points } from "../../format.js";
import { ModelText } from "../../model-text.js";
import { DataTable, Outcome, Problem } from "../../parts.js";

export function AskAgain({ data, path, actions }: { data: StageDetail; path: string; actions: boolean }) {
  const { engineers, variants, own } = data.ask;
  const askable = engineers.includes(own.engineer);
  const [engineer, setEngineer] = useState(askable ? "" : engineers[0]!);
  const [variant, setVariant] = useState("");
  const [model, setModel] = useState("");
  const [samples, setSamples] = useState(1);
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<ReproposeAnswer>();
  const [problem, setProblem] = useState<ApiError>();
  if (data.validation === null) return null;
  const asksModel = (engineer === "" ? own.engineer : engineer) === "llm";
  const request = {
    ...(engineer === "" ? {} : { engineer }),
    ...(variant === "" ? {} : { variant }),
    ...(asksModel && model !== "" ? { model } : {}),
  };
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      setAnswer(await ask<ReproposeAnswer>(`${path}/propose`, { ...request, samples }));
    } catch (error) {
      setAnswer(undefined);
      setProblem(error as ApiError);
    } finally {
      setBusy(false);
    }
  };
  const options = (names: string[]) => names.map((n) => <option key={n}>{n}</option>);
  const named = Object.entries(request).map(([name, value]) => ` --${name} ${shellWord(value)}`);
  const from = shellWord(`${data.run}/stages/${String(data.index).padStart(2, "0")}`);
  const command = `envwright propose --from ${from}${named.join("")}${samples > 1 ? ` --samples ${samples}` : ""}`;
  return (
    <section class="panel" aria-label="Ask again">
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
            {askable ? <option value="">the run's own ({own.engineer})</option> : null}
            {options(engineers)}
          </select>
        </label>
        <label>
          variant
          <select value={variant} onChange={(e) => setVariant(e.currentTarget.value)}>
            <option value="">the run's own ({own.variant})</option>
            {options(variants)}
          </select>
        </label>
        {asksModel ? (
          <label>
            language model
            <input
              class="wide"
              value={model}
              required={own.model === null}
              maxLength={400}
              placeholder={own.model ?? "openai:MODEL@BASE_URL"}
              onInput={(e) => setModel(e.currentTarget.value)}
            />
          </label>
        ) : null}
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
      {asksModel ? (
        <p class="muted small">
          A policy as for <code>envwright eval</code>: <code>openai:MODEL</code>, <code>vllm:MODEL@http://127.0.0.1:8000/v1</code>, a policy
          file, <code>gguf:FILE</code>. Its key is read from the environment of this server.
        </p>
      ) : null}
      {actions ? null : (
        <p class="small">
          This page is read-only. Start it with <code>--allow-actions</code>, or ask on the command line: <code>{command}</code>
        </p>
      )}
      <div aria-live="polite">
        {problem === undefined ? null : <Problem problem={problem.problem} />}
        {answer === undefined ? null : <Answer answer={answer} data={data} />}
      </div>
    </section>
  );
}

function Answer({ answer, data }: { answer: ReproposeAnswer; data: StageDetail }) {
  const { proposals, distance, knobs } = answer;
  const { family, taken } = data;
  const name = (i: number): string => (proposals.length === 1 ? "proposed" : `answer ${i + 1}`);
  const reference = taken ?? data.knobs;
  const strata = [...new Set([reference, ...knobs].flatMap((table) => Object.keys(table)))].sort(byNumber);
  const cell = (value: number | undefined, against: number | undefined) => {
    const change = (value ?? 0) - (against ?? 0);
    return Math.abs(change) < 5e-4 ? (
      <span class="muted">{percent(value)}</span>
    ) : (
      <span class={`delta ${change > 0 ? "up" : "down"}`}>
        <strong>{percent(value)}</strong> <span class="small">{points(change)}</span>
      </span>
    );
  };
  return (
    <>
      <h3>
        {answer.engineer}, {answer.variant}
        {answer.temperature > 0 ? `, temperature ${answer.temperature}` : ""}
      </h3>
      {proposals.map((proposal, i) => (
        <div key={i} class="attempt">
          <p>
            {proposals.length === 1 ? "" : `${name(i)}: `}
            <Outcome outcome={proposal.outcome} /> <span class="muted">{said(distance[i], taken !== null)}</span>
          </p>
          <Words proposal={proposal} />
        </div>
      ))}
      <DataTable
        label="Proposed knobs"
        head={[family.stratumLabel, "knob", "before", ...(taken === null ? [] : ["taken by the run"]), ...knobs.map((_, i) => name(i))]}
        rows={strata.flatMap((s) =>
          family.knobs.map(({ name: knob }) => [
            s,
            knobLabel(knob),
            percent(data.knobs[s]?.[knob]),
            ...(taken === null ? [] : [cell(taken[s]?.[knob], data.knobs[s]?.[knob])]),
            ...knobs.map((table) => cell(table[s]?.[knob], reference[s]?.[knob])),
          ]),
        )}
      />
      <p class="muted small">
        Differences in points: of what is proposed from {taken === null ? "the config before" : "what the run took"}
        {taken === null ? "" : ", and of that from the config before"}.
      </p>
    </>
  );
}

function said(distance: ReproposeAnswer["distance"][number] | undefined, taken: boolean): string {
  const from = taken ? distance?.from_taken : distance?.change;
  if (from == null) return "";
  const what = taken ? "what the run took" : "the config before";
  if (from.shares < 5e-4 && from.ratios < 5e-4) return `the same as ${what}`;
  return `from ${what}: ${percent(from.shares)} of the data moved, the other knobs changed by ${percent(from.ratios)} of their range on average`;
}

function Words({ proposal }: { proposal: Proposal }) {
  const notes = [
    ...proposal.reasons,
    ...proposal.repairs.map((r) => `${r.path}: ${r.reason}`),
    ...proposal.guardrails.map((g) => `${g.guardrail}: ${g.reason}`),
  ];
  const raw = proposal.attempts.filter((a) => a.raw !== "");
  return (
    <>
      {proposal.rationale === "" ? null : <blockquote class="model-text">{proposal.rationale}</blockquote>}
      {notes.length === 0 ? null : (
        <ul class="reasons">
          {notes.map((n) => (
            <li key={n}>{n}</li>
          ))}
        </ul>
      )}
      {raw.length === 0 ? null : (
        <details class="numbers">
          <summary>{raw.length === 1 ? "Its words" : `Its words, asked ${raw.length} times`}</summary>
          {raw.map((a, i) => (
            <div key={i}>
              {a.error === undefined ? null : <p class="refusal">Refused: {a.error}</p>}
              <ModelText text={a.raw} label={`Words ${i + 1}`} />
            </div>
          ))}
        </details>
      )}
    </>
  );
}
