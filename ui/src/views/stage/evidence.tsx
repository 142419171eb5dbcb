/** Where the policy fails after the stage: codes by stratum, as bars and as a table whose counts lead to the rollouts. */
import type { StageDetail } from "../../../../src/ui/records.js";
import { byNumber, codeColour, count, percent } from "../../format.js";
import { DataTable } from "../../parts.js";
import { href } from "../../route.js";

export function Evidence({ data }: { data: StageDetail }) {
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
        <span class="chip" style={{ "--code": codeColour(family, "valid") }}>
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
