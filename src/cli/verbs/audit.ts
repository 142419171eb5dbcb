/**
 * `envwright audit`: do sets leak into each other? Duplicates within and boards in common between any sets, ours, a run's or imported, under
 * every symmetry and agent order. It reports; with --fail-on-overlap a shared board ends it with 1.
 */
import { BoundaryError, canonicalJson, type InstanceBase } from "../../core/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { Audit, type AuditReport, setsIn } from "../audit-sets.js";
import { defineVerb } from "../define-verb.js";
import { readInstanceSet } from "../instance-sets.js";
import { MAP_OPTION, openMapping } from "../row-mapping.js";

export default defineVerb({
  name: "audit",
  description: "Report duplicates within and between sets, under symmetry and agent order",
  options: {
    sets: {
      type: "rest",
      hint: "SET",
      required: true,
      description: "Instances, benchmark sets, or run folders (their stages and evaluation sets)",
    },
    against: { type: "list", hint: "SET", description: "Compare the sets with this one only, not with each other" },
    map: MAP_OPTION,
    recompute: { type: "flag", description: "Solve every board again and hold its recorded optimum and flags against the result" },
    "fail-on-overlap": { type: "flag", description: "Exit with 1 when two compared sets share a board" },
    family: { type: "text", hint: "NAME", default: "mapf-frozenlake", description: "Environment family" },
    json: { type: "flag", description: "The report as one JSON document on stdout" },
  },
  examples: [
    ["envwright audit runs/tiny --against bench-3 --against bench-4 --fail-on-overlap", "a run's sets hold no benchmark board"],
    ["envwright audit train.jsonl held.parquet", "two files, each for itself and with each other"],
  ],
  async run(values, { print, printJson, note }) {
    const family = familyByName(values.family);
    const mapping = openMapping(values.map, family);
    const audit = new Audit();
    const own = values.sets.flatMap(setsIn);
    const sets = [...own, ...values.against.flatMap(setsIn)];
    for (const [name, source] of sets) {
      audit.open(name);
      const foreign = mapping !== undefined && own.some(([n]) => n === name);
      for await (const batch of readInstanceSet(source, family, foreign ? { mapping } : {})) {
        for (const instance of batch) {
          if (values.recompute) recompute(instance, family, name);
          audit.add(instance, family.stratum(instance));
        }
      }
    }
    const solved = values.recompute ? "every recorded optimum and flag is the certified one" : undefined;
    const report = audit.report((i, j) => values.against.length === 0 || (i < own.length && j >= own.length));
    if (values.json) printJson(report);
    else print([describe(report, family.stratumLabel), ...(solved === undefined ? [] : [solved])].join("\n"));
    if (!values["fail-on-overlap"] || report.overlaps.length === 0) return;
    const shared = report.overlaps.reduce((sum, overlap) => sum + overlap.shared, 0);
    if (values.json) note(`${shared} boards are shared`);
    throw new BoundaryError({
      boundary: "audit",
      message: `${shared} boards are shared between sets that are to be apart`,
      expected: "no board in common",
      remedy: "generate the set again with --exclude and the other's file",
    });
  },
});

/** What is certified, computed once more from the board alone. */
function recompute(instance: InstanceBase, family: AnyFamily, set: string): void {
  const { size, holes, agents, id, seed } = instance as InstanceBase & Record<string, unknown>;
  const proven = canonicalJson(family.complete({ size, holes, agents, id, seed }));
  const recorded = canonicalJson(instance);
  if (proven === recorded) return;
  throw new BoundaryError({
    boundary: "audit",
    message: `${set}: instance ${instance.id} is not what it says of itself`,
    value: recorded,
    expected: proven,
    remedy: "generate the set again, or leave optimum and flags out of the file so that they are computed",
  });
}

function describe({ sets, overlaps, pairs }: AuditReport, label: string): string {
  const lines = sets.map(({ name, count, distinct, strata }) => {
    const repeats = Object.entries(strata).filter(([, cell]) => cell.distinct < cell.count);
    const where = repeats.map(([stratum, cell]) => `${label} ${stratum}: ${cell.count - cell.distinct}`).join(", ");
    return `${name}: ${count} instances, ${count - distinct} of them repeat another${where === "" ? "" : ` (${where})`}`;
  });
  const between = overlaps.map(({ sets: [a, b], shared, strata, examples }) => {
    const where = Object.entries(strata).map(([stratum, n]) => `${label} ${stratum}: ${n}`);
    return `${a} and ${b} share ${shared} boards (${where.join(", ")}), for instance ${examples.map(([x, y]) => `${x} = ${y}`).join("; ")}`;
  });
  const none = `no board in common between ${pairs === 1 ? "the two sets" : `any of the ${pairs} pairs of sets`}`;
  return [...lines, ...(between.length > 0 ? between : pairs === 0 ? [] : [none])].join("\n");
}
