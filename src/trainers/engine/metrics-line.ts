/**
 * A line of an engine's metrics as JSON. Python writes numbers that are none as NaN and Infinity, which JSON does not have: they are read
 * as null, so that a step with one of them keeps its other numbers.
 */
export function parseMetricsLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return JSON.parse(line.replace(/(?<=[:,[]\s*)(?:NaN|-?Infinity)(?=\s*[,}\]])/g, "null"));
  }
}
