/** Failures as they flow from checkpoint to checkpoint, in parts of the validation set. */
import { codeColour, percent, whole } from "../../format.js";
import { checkpointName, type Frame } from "./frame.js";

export function Failures({ frame, top, height }: { frame: Frame; top: number; height: number }) {
  const { run, at, step } = frame;
  const list = [run.report.base, ...run.report.stages.map((s) => s.validation)];
  const codes = run.family.failureCodes.map((c) => c.code).filter((code) => list.some((v) => (v?.codes[code] ?? 0) > 0));
  const share = (c: number, code: string): number => {
    const v = list[c];
    return v === undefined || v.n === 0 ? 0 : (v.codes[code] ?? 0) / v.n;
  };
  const most = Math.max(0.01, ...list.map((_, c) => codes.reduce((sum, code) => sum + share(c, code), 0)));
  const bar = 12;
  const stack = (c: number): Record<string, [number, number]> => {
    let y = top + height;
    return Object.fromEntries(
      codes.map((code) => {
        const h = (share(c, code) / most) * height;
        y -= h;
        return [code, [y, y + h]];
      }),
    );
  };
  const stacks = list.map((v, c) => (v === undefined ? undefined : stack(c)));
  const labels: { code: string; y: number }[] = [];
  for (const code of codes) {
    const [y0, y1] = stacks[0]?.[code] ?? [0, 0];
    const y = Math.min((y0 + y1) / 2 + 4, (labels.at(-1)?.y ?? 1e9) - 13);
    if (y1 - y0 > 3) labels.push({ code, y });
  }
  return (
    <g class="flows">
      {codes.map((code) =>
        stacks.map((s, c) => {
          const next = stacks[c + 1];
          if (s === undefined) return null;
          const [a0, a1] = s[code]!;
          const x0 = at(c) + bar / 2;
          const x1 = at(c + 1) - bar / 2;
          const mid = (x0 + x1) / 2;
          const [b0, b1] = next?.[code] ?? [0, 0];
          return (
            <g key={`${code}${c}`} style={{ fill: codeColour(run.family, code) }}>
              <title>{`${checkpointName(c)}: ${code} ${percent(share(c, code))}`}</title>
              {next === undefined ? null : (
                <path
                  class="ribbon"
                  d={`M${x0} ${a0}C${mid} ${a0} ${mid} ${b0} ${x1} ${b0}L${x1} ${b1}C${mid} ${b1} ${mid} ${a1} ${x0} ${a1}Z`}
                />
              )}
              <rect x={at(c) - bar / 2} y={a0} width={bar} height={Math.max(0, a1 - a0)} />
              {step > 70 && a1 - a0 > 15 && next !== undefined ? (
                <text class="in-flow" x={x0 + 5} y={(a0 + a1) / 2 + 4}>
                  {whole(share(c, code))}
                </text>
              ) : null}
            </g>
          );
        }),
      )}
      {labels.map(({ code, y }) => (
        <text key={code} class="flow-label" x={at(0) - 12} y={y} text-anchor="end">
          {code.replace("-conflict", "")}
        </text>
      ))}
    </g>
  );
}
