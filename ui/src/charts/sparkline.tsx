/** A run's valid rate over its checkpoints, small. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const [w, h] = [104, 30];
  if (values.length === 0) return <span class="muted">no checkpoint yet</span>;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = Math.max(0.05, high - low);
  const x = (i: number): number => 4 + (i * (w - 8)) / Math.max(1, values.length - 1);
  const y = (v: number): number => h - 5 - ((v - low) / span) * (h - 10);
  const path = values.map((v, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const last = values.length - 1;
  return (
    <svg class="sparkline" role="img" aria-label={label} width={w} height={h} viewBox={`0 0 ${w} ${h}`}>
      <path class="area" d={`${path}L${x(last)} ${h - 2}L${x(0)} ${h - 2}Z`} />
      <path class="line" d={path} />
      <circle class="dot" cx={x(last)} cy={y(values[last]!)} r="3" />
    </svg>
  );
}
