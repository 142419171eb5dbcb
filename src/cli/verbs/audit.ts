/**
 * `envwright audit`: do sets leak into each other? Duplicates within and boards in common between any sets, ours, a run's or imported, under
 * every symmetry and agent order. It reports; with --fail-on-overlap a shared board ends it with 1, with --recompute a row that is not what
 * it says of itself. Without --recompute nothing is solved: a board without a solution leaks like any other.
 */
import { BoundaryError, counted, InputError } from "../../core/index.js";
import { type AnyFamily, familyByName } from "../../environments/index.js";
import { Audit, type AuditReport, setsIn } from "../audit-sets.js";
import { defineVerb } from "../define-verb.js";
import { identified, type RowMapping, readBoards } from "../instance-sets.js";
import { describeFault, Recompute, type RecomputeReport } from "../recompute.js";
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
    map: { ...MAP_OPTION, description: `${MAP_OPTION.description}; for every set but those of --against` },
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
    const given = openMapping(values.map, family);
    const mapping = given === undefined ? undefined : forSetsNamedFirst(given, family);
    const audit = new Audit();
    const recompute = values.recompute ? new Recompute(family) : undefined;
    const own = values.sets.flatMap(setsIn);
    const sets = [...own, ...values.against.flatMap(setsIn)];
    for (const [name, source] of sets) {
      audit.open(name);
      const foreign = own.some(([n]) => n === name);
      for await (const batch of readBoards(source, family, foreign ? mapping : undefined)) {
        for (const row of batch) {
          recompute?.check(name, row);
          audit.add(row.board, family.stratum(row.board));
        }
      }
    }
    const report = audit.report((i, j) => values.against.length === 0 || (i < own.length && j >= own.length));
    const recomputed = recompute?.report;
    if (values.json) printJson({ ...report, ...(recomputed === undefined ? {} : { recomputed }) });
    else print([describe(report, family.stratumLabel), ...(recomputed === undefined ? [] : describeRecomputed(recomputed))].join("\n"));
    const shared = values["fail-on-overlap"] ? report.overlaps.reduce((sum, overlap) => sum + overlap.shared, 0) : 0;
    if (recomputed !== undefined && recomputed.faulty > 0) {
      if (shared > 0) note(sharing(shared));
      throw faulty(recomputed);
    }
    if (shared === 0) return;
    throw new BoundaryError({
      boundary: "audit",
      message: `${sharing(shared)} between sets that are to be apart`,
      expected: "no board in common",
      remedy: "generate the set again with --exclude and the other's file",
    });
  },
});

/** The mapping, which refuses rows of our own sets for their place on the command line: no path in it would be right for them too. */
function forSetsNamedFirst(mapping: RowMapping, family: AnyFamily): RowMapping {
  const isOurs = (row: unknown): boolean => {
    try {
      identified(family, row);
      return true;
    } catch {
      return false;
    }
  };
  return (row) => {
    try {
      return mapping(row);
    } catch (error) {
      if (!(error instanceof InputError) || !isOurs(row)) throw error;
      throw new InputError({
        message: `${error.message}; the row needs no mapping, it has the fields of ${family.name}`,
        value: error.value,
        expected: "foreign sets only before --against: --map is for each of them",
        remedy: "name the foreign sets first, and this one behind --against",
        cause: error,
      });
    }
  };
}

function faulty({ faulty: count, examples }: RecomputeReport): BoundaryError {
  const [first] = examples;
  return new BoundaryError({
    boundary: "audit",
    message: `${uncertified(count)}${count === 1 ? "" : ", the first"}: ${describeFault(first!)}`,
    value: examples,
    expected: "boards that can be certified, with optimum and flags as certified or left out",
    remedy: examples.every(({ problem }) => problem !== undefined)
      ? "take the rows out"
      : "generate the set again, or leave optimum and flags out of the file so that they are computed",
  });
}

function describeRecomputed({ faulty, examples }: RecomputeReport): string[] {
  if (faulty === 0) return ["every recorded optimum and flag is the certified one"];
  const more = faulty - examples.length;
  return [
    `${uncertified(faulty)}:`,
    ...examples.map((fault) => `  ${describeFault(fault)}`),
    ...(more === 0 ? [] : [`  and ${more} more`]),
  ];
}

const uncertified = (n: number): string => `${n} ${n === 1 ? "row is" : "rows are"} not as certified`;
const sharing = (n: number): string => `${counted(n, "board")} ${n === 1 ? "is" : "are"} shared`;

function describe({ sets, overlaps, pairs }: AuditReport, label: string): string {
  const lines = sets.map(({ name, count, distinct, strata }) => {
    const repeats = Object.entries(strata).filter(([, cell]) => cell.distinct < cell.count);
    const where = repeats.map(([stratum, cell]) => `${label} ${stratum}: ${cell.count - cell.distinct}`).join(", ");
    if (count === 1) return `${name}: 1 instance`;
    const repeating = count - distinct;
    return `${name}: ${count} instances, ${repeating} of them ${repeating === 1 ? "repeats" : "repeat"} another${where === "" ? "" : ` (${where})`}`;
  });
  const between = overlaps.map(({ sets: [a, b], shared, strata, examples }) => {
    const where = Object.entries(strata).map(([stratum, n]) => `${label} ${stratum}: ${n}`);
    return `${a} and ${b} share ${counted(shared, "board")} (${where.join(", ")}), for instance ${examples.map(([x, y]) => `${x} = ${y}`).join("; ")}`;
  });
  const none = `no board in common between ${pairs === 1 ? "the two sets" : `any of the ${pairs} pairs of sets`}`;
  return [...lines, ...(between.length > 0 ? between : pairs === 0 ? [] : [none])].join("\n");
}
