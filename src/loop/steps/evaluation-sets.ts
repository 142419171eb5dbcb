/** Before the first stage: the recipe's two evaluation sets. */
import { datasetManifestSchema, type InstanceBase, setHash } from "../../core/index.js";
import { readParquet, writeParquet } from "../../store/index.js";
import { type EvaluationSet, makeEvaluationSets } from "../evaluation-sets.js";
import type { Workbench } from "../workbench.js";
import { inPhase, signalOf } from "./phases.js";

/** The recipe's validation and held-out sets, `<name>.parquet` with its manifest `<name>.json` in the run's root. */
export async function evaluationSets<I extends InstanceBase>(
  bench: Workbench<I>,
): Promise<{ validation: EvaluationSet<I>; heldOut: EvaluationSet<I> }> {
  const { folder, family, recipe } = bench;
  const names = recipe.held_out.count === 0 ? (["validation"] as const) : (["validation", "held-out"] as const);
  const known = await Promise.all(names.map((name) => folder.has("run", `${name}.json`)));
  if (!known.every(Boolean)) {
    const made = await inPhase(bench, 0, "generate", (progress) =>
      makeEvaluationSets(family, recipe, bench.template, { workers: bench.workers, onProgress: progress, ...signalOf(bench) }),
    );
    for (const name of names) {
      await folder.writeFile("run", `${name}.parquet`, (path) => writeParquet(path, family.instanceSchema, made[name].instances));
      await folder.writeRecord("run", `${name}.json`, datasetManifestSchema, made[name].manifest!);
    }
  }
  const read = async (name: "validation" | "held-out"): Promise<EvaluationSet<I>> => {
    const there = (names as readonly string[]).includes(name);
    const instances = there ? await readParquet(await folder.verified("run", `${name}.parquet`), family.instanceSchema) : [];
    return { instances, sha256: setHash(instances) };
  };
  return { validation: await read("validation"), heldOut: await read("held-out") };
}
