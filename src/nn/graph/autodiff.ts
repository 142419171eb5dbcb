/**
 * Reverse-mode differentiation over a builder's tape: appends the gradient's nodes to the same graph.
 * Only what lies between the loss and the requested values is differentiated. Gradients of single rows of a table (embeddings) are
 * kept as rows until the end and then added onto the dense part, so that no one-hot matrix appears.
 */
import { InputError } from "../../core/index.js";
import type { GraphBuilder, RowGradient, Value } from "./builder.js";
import { emit, shapeOf } from "./operators.js";

interface Gathered {
  dense: Value | undefined;
  rows: RowGradient[];
}

/** d loss / d value for each of `wrt`, in order; `loss` has shape []. A value that the loss does not read gets zeros. */
export function gradients(g: GraphBuilder, loss: Value, wrt: readonly Value[]): Value[] {
  if (loss.shape.length !== 0) throw new InputError({ message: `the loss must be a scalar, not of shape [${loss.shape}]` });
  const wanted = new Set(wrt.map((v) => v.name));
  for (const entry of g.tape) {
    if (entry.inputs.some((v) => wanted.has(v.name))) for (const out of entry.outputs) wanted.add(out.name);
  }
  const gathered = new Map<string, Gathered>();
  return g.untaped(() => {
    gathered.set(loss.name, { dense: g.scalar(1), rows: [] });
    for (const entry of [...g.tape].reverse()) {
      if (!entry.outputs.some((v) => gathered.has(v.name)) || !entry.inputs.some((v) => wanted.has(v.name))) continue;
      const incoming = entry.outputs.map((v) => (gathered.has(v.name) ? finish(g, v, gathered.get(v.name)!) : undefined));
      const outgoing = entry.backward(incoming);
      entry.inputs.forEach((input, i) => {
        if (!wanted.has(input.name)) return;
        const contribution = outgoing[i]?.();
        if (contribution !== undefined) contribute(g, gathered, input, contribution);
      });
    }
    return wrt.map((v) => finish(g, v, gathered.get(v.name) ?? { dense: undefined, rows: [] }));
  });
}

function contribute(g: GraphBuilder, gathered: Map<string, Gathered>, to: Value, contribution: Value | RowGradient): void {
  const sum = gathered.get(to.name) ?? { dense: undefined, rows: [] };
  gathered.set(to.name, sum);
  if ("updates" in contribution) sum.rows.push(contribution);
  else sum.dense = sum.dense === undefined ? contribution : emit(g, "Add", [sum.dense, contribution], to.shape);
}

function finish(g: GraphBuilder, value: Value, sum: Gathered): Value {
  let total = sum.dense ?? emit(g, "ConstantOfShape", [shapeOf(g, value)], value.shape);
  for (const { indices, updates } of sum.rows) {
    const places = g.node("Unsqueeze", [indices, g.integers([1])], [{ shape: [indices.shape[0]!, 1], type: "int64" }])[0]!;
    total = emit(g, "ScatterND", [total, places, updates], value.shape, { reduction: "add" });
  }
  sum.dense = total;
  sum.rows = [];
  return total;
}
