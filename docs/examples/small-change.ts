/**
 * A small environment family, whole: pay an amount with the fewest coins. Strata are the largest amounts; in a "trap" the largest coin
 * that fits, taken again and again, leaves a rest that no coin pays. Explained in docs/environments.md; passes the conformance suite.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import {
  canonicalJson,
  type DatasetManifest,
  type EnvironmentFamily,
  type GenerateOptions,
  InfeasibleError,
  InputError,
  InterruptedError,
  type KnobTable,
  parseWith,
  type Random,
  type Repair,
  SCHEMA_VERSION,
  type Verdict,
} from "../../src/core/index.js";

const STRATA = ["20", "40", "80"];
const KNOBS = ["data_ratio", "trap_ratio"] as const;
const COINS = Array.from({ length: 11 }, (_, i) => i + 2);
const MOST_DRAWS = 100_000;

const ratio = z.number().nonnegative();
const row = z.strictObject({ data_ratio: ratio, trap_ratio: ratio });
const configSchema = z.strictObject({ amounts: z.strictObject({ "20": row, "40": row, "80": row }) });
type Config = z.infer<typeof configSchema>;

const problemSchema = z.object({ coins: z.array(z.int().min(2).max(12)).length(3), amount: z.int().min(2).max(80) });
type Problem = z.infer<typeof problemSchema>;
const instanceSchema = problemSchema.extend({ id: z.string(), hash: z.string(), trap: z.boolean(), optimum: z.int().positive() });
type Instance = z.infer<typeof instanceSchema>;

/** The fewest coins that pay the amount, largest first; undefined when none do. */
function fewestCoins({ coins, amount }: Problem): number[] | undefined {
  const best: (number[] | undefined)[] = [[]];
  for (let sum = 1; sum <= amount; sum++) {
    for (const coin of coins) {
      const rest = best[sum - coin];
      if (rest !== undefined && rest.length + 1 < (best[sum]?.length ?? Number.POSITIVE_INFINITY)) best[sum] = [...rest, coin];
    }
  }
  return best[amount]?.sort((a, b) => b - a);
}

function isTrap({ coins, amount }: Problem): boolean {
  return [...coins].sort((a, b) => b - a).reduce((left, coin) => left % coin, amount) > 0;
}

const stratumOf = ({ amount }: Problem) => STRATA.find((stratum) => amount <= Number(stratum))!;
const hashOf = ({ coins, amount }: Problem) => `${[...coins].sort((a, b) => a - b).join(".")}=${amount}`;

function draw(stratum: string, random: Random): Problem {
  const high = Number(stratum);
  const coins = random.shuffle([...COINS]).slice(0, 3);
  return { coins: coins.sort((a, b) => a - b), amount: random.between(high / 2 + 1, high) };
}

interface Quota {
  stratum: string;
  trap: boolean;
  count: number;
}

/** Fills each quota from its own random stream: the same seed gives the same set, whatever else is asked for. */
function fill(quotas: readonly Quota[], requested: KnobTable, { count, seed, exclude, signal, onProgress }: GenerateOptions) {
  const taken = new Set(exclude);
  const sampling: Record<string, number> = { drawn: 0, unpayable: 0, other_kind: 0, excluded: 0 };
  const drop = (reason: string) => {
    sampling[reason]! += 1;
  };
  const found: Omit<Instance, "id">[] = [];
  for (const { stratum, trap, count: wanted } of quotas) {
    const random = seed.child(stratum, String(trap)).at(0);
    const upTo = found.length + wanted;
    for (let draws = 0; found.length < upTo; draws++) {
      if (signal?.aborted) throw new InterruptedError({ message: "generation was interrupted" });
      if (draws === MOST_DRAWS) throw new InfeasibleError({ message: `no more amounts up to ${stratum} with trap=${trap}` });
      drop("drawn");
      const problem = draw(stratum, random);
      const coins = fewestCoins(problem);
      const hash = hashOf(problem);
      if (coins === undefined) drop("unpayable");
      else if (isTrap(problem) !== trap) drop("other_kind");
      else if (taken.has(hash)) drop("excluded");
      else {
        taken.add(hash);
        found.push({ ...problem, hash, trap, optimum: coins.length });
        onProgress?.(found.length, count);
      }
    }
  }
  const instances = seed
    .child("order")
    .at(0)
    .shuffle(found)
    .map((instance, i): Instance => ({ id: `${seed.path}:${i}`, ...instance }));
  const strata = Object.fromEntries(
    Object.keys(requested).map((stratum) => {
      const own = instances.filter((instance) => stratumOf(instance) === stratum);
      const traps = own.filter(({ trap }) => trap).length;
      const realised = { data_ratio: own.length / count, trap_ratio: own.length === 0 ? 0 : traps / own.length };
      return [stratum, { count: own.length, requested: requested[stratum]!, realised }];
    }),
  );
  const digest = createHash("sha256");
  for (const instance of instances) digest.update(`${canonicalJson(instance)}\n`);
  const manifest: DatasetManifest = {
    schema_version: SCHEMA_VERSION,
    family: "small-change",
    count,
    seed: seed.path,
    sha256: digest.digest("hex"),
    strata,
    sampling,
    excluded_hashes: exclude?.size ?? 0,
  };
  return { instances, manifest };
}

/** Whole parts of `total` in proportion to the table's shares (largest remainder), then traps within each stratum. */
function quotasOf(table: KnobTable, total: number): Quota[] {
  const exact = STRATA.map((stratum) => table[stratum]!.data_ratio! * total);
  const counts = exact.map((x) => Math.floor(x + 1e-9));
  const byRemainder = STRATA.map((_, i) => i).sort((a, b) => exact[b]! - counts[b]! - (exact[a]! - counts[a]!) || a - b);
  for (let i = 0; counts.reduce((a, b) => a + b, 0) < total; i++) counts[byRemainder[i]!]! += 1;
  return STRATA.flatMap((stratum, i) => {
    const traps = Math.round(counts[i]! * table[stratum]!.trap_ratio!);
    return [
      { stratum, trap: true, count: traps },
      { stratum, trap: false, count: counts[i]! - traps },
    ];
  });
}

/** The coins of an answer, or why there are none. One pass; never throws. */
function readCoins(text: string, rendering: "chat" | "compact"): number[] | undefined {
  const list = rendering === "compact" ? text.replace(/\s+/g, "") : text.slice(text.lastIndexOf("<answer>"));
  const pattern = rendering === "compact" ? /^(?:<coin:\d{1,2}>)+$/ : /^<answer>\s*\d{1,3}(?:\s*,\s*\d{1,3}){0,80}\s*<\/answer>/;
  const found = pattern.exec(list);
  return found === null ? undefined : Array.from(found[0].matchAll(/\d+/g), ([digits]) => Number(digits));
}

function judge({ coins, amount }: Instance, text: string, finish: string, rendering: "chat" | "compact") {
  if (finish === "length") return { code: "truncated", reason: "the answer was cut off" };
  const paid = readCoins(text, rendering);
  if (paid === undefined) return { code: "parse-error", reason: "no list of coins in the stated form" };
  const unknown = paid.findIndex((coin) => !coins.includes(coin));
  if (unknown >= 0) {
    return { code: "unknown-coin", reason: `there is no coin of ${paid[unknown]}`, at: { step: unknown + 1, agents: [] } };
  }
  const sum = paid.reduce((a, b) => a + b, 0);
  if (sum !== amount) return { code: "wrong-sum", reason: `the coins make ${sum}, not ${amount}` };
  return { code: "valid", reason: "every rule holds", cost: paid.length };
}

export const smallChange: EnvironmentFamily<Config, Instance> = {
  name: "small-change",
  description: "Pay an amount exactly with the fewest of the coins given.",
  configSchema,
  instanceSchema,
  knobs: [
    { name: "data_ratio", kind: "share", min: 0, max: 1, description: "More amounts of this range.", answers: [] },
    {
      name: "trap_ratio",
      kind: "ratio",
      min: 0,
      max: 1,
      description: "More amounts that the largest coins cannot pay.",
      answers: ["wrong-sum"],
    },
  ],
  failureCodes: [
    { code: "parse-error", description: "The answer is not a list of coins in the stated form." },
    { code: "truncated", description: "The answer was cut off by the length limit." },
    { code: "unknown-coin", description: "A coin is paid that does not exist." },
    { code: "wrong-sum", description: "The coins do not make the amount." },
  ],
  objectives: ["coins"],
  stratumLabel: "amount",
  guideline: `## How to choose

- \`data_ratio\`: the share of the amounts in this range; the shares sum to 1.
- \`trap_ratio\`: the share in which the largest coin that fits leads nowhere. It is the answer to \`wrong-sum\`.
- Aim where some answers succeed and some fail; a range that always fails teaches nothing.`,
  allStrata: STRATA,

  strata: () => [...STRATA],
  objective: () => "coins",
  knobTable: ({ amounts }) => structuredClone(amounts),
  withKnobs: ({ amounts }, table) => {
    const merged = Object.fromEntries(Object.entries(amounts).map(([stratum, knobs]) => [stratum, { ...knobs, ...table[stratum] }]));
    return { amounts: merged as Config["amounts"] };
  },
  normalise(config) {
    const table: KnobTable = structuredClone(config.amounts);
    const repairs: Repair[] = [];
    const set = (stratum: string, knob: (typeof KNOBS)[number], to: number, reason: string) => {
      const from = table[stratum]![knob]!;
      if (Math.abs(from - to) < 1e-9) return;
      repairs.push({ path: `amounts.${stratum}.${knob}`, from, to, reason });
      table[stratum]![knob] = to;
    };
    const sum = Object.values(table).reduce((total, knobs) => total + knobs.data_ratio!, 0);
    for (const stratum of STRATA) {
      set(stratum, "data_ratio", table[stratum]!.data_ratio! / sum, "scaled so that the shares sum to 1");
      set(stratum, "trap_ratio", Math.min(1, table[stratum]!.trap_ratio!), "clamped to [0, 1]");
    }
    return { config: smallChange.withKnobs(config, table), repairs };
  },
  randomConfig(like, random) {
    const drawn = Object.fromEntries(STRATA.map((stratum) => [stratum, { data_ratio: 0.1 + random.float(), trap_ratio: random.float() }]));
    return smallChange.normalise(smallChange.withKnobs(like, drawn)).config;
  },
  infeasible: () => [],

  async generate(given, options) {
    const table = smallChange.knobTable(smallChange.normalise(given).config);
    return fill(quotasOf(table, options.count), table, options);
  },
  async generateBalanced(_config, options) {
    const even = Object.fromEntries(STRATA.map((stratum) => [stratum, { data_ratio: 1 / STRATA.length, trap_ratio: 0.5 }]));
    return fill(quotasOf(even, options.count), even, options);
  },
  reservedHashes: async () => new Set(),

  stratum: stratumOf,
  tags: ({ trap }) => ({ trap: String(trap) }),
  complete(value) {
    const problem = parseWith(problemSchema, value, "instance", InputError);
    const coins = fewestCoins(problem);
    if (coins === undefined) throw new InputError({ message: `${problem.amount} cannot be paid with ${problem.coins}`, value });
    const hash = hashOf(problem);
    const { id } = parseWith(z.object({ id: z.string().default(hash) }), value, "instance", InputError);
    return { id, ...problem, hash, trap: isTrap(problem), optimum: coins.length };
  },

  prompt({ coins, amount }, rendering) {
    if (rendering === "compact") return `${coins.map((coin) => `<coin:${coin}>`).join("")}<amount:${amount}><pay>`;
    return `Pay ${amount} exactly, with as few coins as possible. There are coins of ${coins.join(", ")}, as many as you like.\nAnswer with the coins, separated by commas, like this: <answer>5, 5, 2</answer>`;
  },
  demonstrate(instance, _objective, rendering) {
    const coins = fewestCoins(instance)!;
    return rendering === "compact" ? coins.map((coin) => `<coin:${coin}>`).join("") : `<answer>${coins.join(", ")}</answer>`;
  },
  verify(instance, completion, finish, rendering): Verdict {
    const { code, reason, at, cost } = { at: undefined, cost: undefined, ...judge(instance, completion, finish, rendering) };
    return {
      instance: instance.id,
      ok: cost !== undefined,
      code,
      ...(at === undefined ? {} : { at }),
      reason,
      counts: cost === undefined ? { [code]: 1 } : {},
      ...(cost === undefined ? {} : { costs: { coins: cost } }),
      optima: { coins: instance.optimum },
      optimal: { coins: cost === instance.optimum },
    };
  },

  compactWords: [
    ...COINS.map((coin) => ({ word: `<coin:${coin}>` })),
    ...Array.from({ length: 79 }, (_, i) => ({ word: `<amount:${i + 2}>` })),
    { word: "<pay>" },
  ],
  compactPromptEnd: "<pay>",
};
