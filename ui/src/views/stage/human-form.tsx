/** The turn of a person as engineer: the config as a form, its reason, the approval. */
import { useEffect, useState } from "preact/hooks";
import type { KnobTable } from "../../../../src/core/records.js";
import type { StageDetail } from "../../../../src/ui/records.js";
import { type ApiError, ask } from "../../api.js";
import { byNumber, knobLabel, percent } from "../../format.js";
import { Problem } from "../../parts.js";

export function HumanForm({ data, actions, path, done }: { data: StageDetail; actions: boolean; path: string; done: () => void }) {
  const human = data.human!;
  const [knobs, setKnobs] = useState<KnobTable>(human.knobs);
  const [rationale, setRationale] = useState(human.rationale);
  const [sent, setSent] = useState(false);
  const [problem, setProblem] = useState<ApiError>();
  useEffect(() => setSent(false), [human.refused]);
  const strata = Object.keys(knobs).sort(byNumber);
  const change = (s: string, k: string, text: string): void => setKnobs((old) => ({ ...old, [s]: { ...old[s], [k]: Number(text) / 100 } }));
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
