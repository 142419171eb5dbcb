/** The exact text that the engineer was given and each of its answers. */
import type { StageDetail } from "../../../../src/ui/records.js";
import { count } from "../../format.js";
import { ModelText } from "../../model-text.js";

export function Texts({ data }: { data: StageDetail }) {
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
