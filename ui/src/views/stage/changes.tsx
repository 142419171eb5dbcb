/** The next config as a difference: every knob that changes with the failures it answers, and each repair at its knob. */
import type { StageDetail } from "../../../../src/ui/records.js";
import { codeColour, count, knobLabel, percent } from "../../format.js";

export function Changes({ data }: { data: StageDetail }) {
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
