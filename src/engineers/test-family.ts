/**
 * A small environment family for tests of what is family-agnostic: parcels delivered over 2, 4 or 8 streets, in fog and traffic. Three
 * strata, one share and two ratios, four failure codes. Generation and judging are as simple as they can be and still hold the contract.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import {
  canonicalJson,
  type EnvironmentFamily,
  type GenerateOptions,
  type InstanceBase,
  instanceBaseSchema,
  type KnobTable,
  type Repair,
  type Verdict,
} from "../core/index.js";

const knobs = z.strictObject({
  load: z.number().min(0),
  fog: z.number().min(0),
  traffic: z.number().min(0),
});
const configSchema = z.strictObject({ streets: z.record(z.enum(["2", "4", "8"]), knobs) });
export type DeliveryConfig = z.infer<typeof configSchema>;

interface Parcel extends InstanceBase {
  street: string;
  number: number;
}

const STRATA = ["2", "4", "8"] as const;

/** A config with the same knobs at every stratum. */
export function deliveryConfig(fog = 0.3, traffic = 0.1): DeliveryConfig {
  const street = (load: number) => ({ load, fog, traffic });
  return { streets: { "2": street(0.5), "4": street(0.3), "8": street(0.2) } };
}

export const deliveryFamily: EnvironmentFamily<DeliveryConfig, Parcel> = {
  name: "delivery",
  description: "A courier brings parcels through a town.",
  configSchema,
  instanceSchema: instanceBaseSchema.extend({ street: z.string(), number: z.number() }) as unknown as z.ZodType<Parcel>,
  knobs: [
    { name: "load", kind: "share", min: 0, max: 1, description: "More parcels at this distance.", answers: [] },
    { name: "fog", kind: "ratio", min: 0, max: 1, description: "More fog, so that signs must be read.", answers: ["lost"] },
    { name: "traffic", kind: "ratio", min: 0, max: 0.5, description: "More cars to give way to.", answers: ["crash", "jam"] },
  ],
  failureCodes: [
    { code: "no-answer", description: "There is no route in the answer." },
    { code: "lost", description: "The route does not end at the door." },
    { code: "crash", description: "The courier meets a car." },
    { code: "jam", description: "The courier waits for ever." },
  ],
  objectives: ["time", "distance"],
  stratumLabel: "distance",
  guideline: "## How to choose\n\n- Keep what works.\n- Aim at the frontier of competence, not at the hardest.",
  allStrata: STRATA,
  strata: (config) => STRATA.filter((s) => config.streets[s] !== undefined),
  objective: () => "time",
  knobTable: (config) => Object.fromEntries(STRATA.map((s) => [s, { ...config.streets[s] }])),
  withKnobs: (config, table) => ({
    streets: Object.fromEntries(STRATA.map((s) => [s, { ...config.streets[s], ...table[s] }])) as DeliveryConfig["streets"],
  }),
  normalise(config) {
    const repairs: Repair[] = [];
    const sum = STRATA.reduce((total, s) => total + config.streets[s].load, 0);
    const street = (s: (typeof STRATA)[number]) => ({ ...config.streets[s], load: config.streets[s].load / sum });
    const streets = { "2": street("2"), "4": street("4"), "8": street("8") };
    if (Math.abs(sum - 1) > 1e-6) repairs.push({ path: "load", from: sum, to: 1, reason: "normalised" });
    return { config: Math.abs(sum - 1) > 1e-6 ? { streets } : config, repairs };
  },
  randomConfig(like, random) {
    const weights = STRATA.map(() => 0.1 + random.float());
    const sum = weights.reduce((a, b) => a + b, 0);
    const table: KnobTable = Object.fromEntries(
      STRATA.map((s, i) => [s, { load: weights[i]! / sum, fog: random.float(), traffic: 0.35 * random.float() }]),
    );
    return deliveryFamily.withKnobs(like, table);
  },
  infeasible: (config) =>
    config.streets["2"].traffic > 0.36 ? [{ stratum: "2", problem: "two streets hold no more cars", nearest: "traffic 0.36" }] : [],
  async generate(config, { count }: GenerateOptions) {
    return deliver(deliveryFamily.strata(config), count);
  },
  async generateBalanced(config, { count }: GenerateOptions) {
    return deliver(deliveryFamily.strata(config), count);
  },
  reservedHashes: async () => new Set<string>(),
  stratum: (parcel) => parcel.street,
  tags: (parcel) => ({ even: String(parcel.number % 2 === 0) }),
  complete: (value) => value as Parcel,
  prompt: (parcel) => `<parcel>${parcel.number}<deliver>`,
  demonstrate: (parcel) => String(parcel.number),
  verify(parcel, completion): Verdict {
    const ok = completion.trim() === String(parcel.number);
    const code = ok ? "valid" : completion.trim() === "" ? "no-answer" : "lost";
    const optimal = { time: ok, distance: ok };
    const costs = ok ? { costs: { time: 1, distance: 1 } } : {};
    return {
      instance: parcel.id,
      ok,
      code,
      reason: code,
      counts: ok ? {} : { [code]: 1 },
      optima: { time: 1, distance: 1 },
      optimal,
      ...costs,
    };
  },
  compactWords: [{ word: "<parcel>" }, { word: "<deliver>" }],
  compactPromptEnd: "<deliver>",
};

function deliver(strata: readonly string[], count: number) {
  const instances = Array.from({ length: count }, (_, number) => {
    const street = strata[number % strata.length]!;
    const hash = createHash("sha256").update(`${street}/${number}`).digest("hex");
    return { id: String(number), hash, street, number };
  });
  const sha256 = createHash("sha256")
    .update(instances.map((i) => canonicalJson(i)).join("\n"))
    .digest("hex");
  const manifest = {
    schema_version: 1 as const,
    family: "delivery",
    count,
    seed: "delivery",
    sha256,
    strata: {},
    sampling: {},
    excluded_hashes: 0,
  };
  return { instances, manifest };
}
