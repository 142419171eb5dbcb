/**
 * The conformance suite of environment families: what every family has to pass before a loop may run on it. Call
 * `familyConformance(family, config)` in a test file. It knows no family: it reads strata, knobs, codes and objectives as the family
 * declares them.
 */
import { describe, expect, it } from "vitest";
import {
  canonicalJson,
  datasetManifestSchema,
  type EnvironmentFamily,
  InputError,
  type InstanceBase,
  parseWith,
  type Rendering,
  Seed,
  verdictSchema,
} from "../core/index.js";

export interface ConformanceOptions<I> {
  /** Instances a generated set gets; enough that quotas of every stratum are not trivial. Default 60. */
  count?: number;
  /** Reads a prompt back; the prompt is lossless if what it returns, rendered again, is the same prompt and names the instance. */
  readPrompt: (prompt: string, rendering: Rendering) => unknown;
  /** The part of an instance that its prompt carries, as `readPrompt` returns it. */
  problem: (instance: I) => unknown;
  /** Quotas of the config that a set has to meet exactly, as [what, number found, number asked for]. */
  quotas: (instances: readonly I[]) => [what: string, found: number, asked: number][];
}

const RENDERINGS = ["chat", "compact"] as const;

/** A training set of `config` is used throughout; `config` has to be feasible. */
export function familyConformance<C, I extends InstanceBase>(
  family: EnvironmentFamily<C, I>,
  config: C,
  options: ConformanceOptions<I>,
): void {
  const count = options.count ?? 60;
  const seed = Seed.root("conformance").child(family.name);
  let set: ReturnType<typeof family.generate> | undefined;
  const generated = () => {
    set ??= family.generate(config, { count, seed });
    return set;
  };
  const text = (instances: readonly I[]) => instances.map((instance) => canonicalJson(instance)).join("\n");

  describe(`family ${family.name}`, () => {
    it("declares its knobs, codes, objectives and strata as data", () => {
      const parsed = parseWith(family.configSchema, JSON.parse(JSON.stringify(config)), "config");
      expect(parsed).toEqual(config);
      expect(family.objectives).toContain(family.objective(config));
      for (const stratum of family.strata(config)) expect(family.allStrata).toContain(stratum);
      const codes = family.failureCodes.map(({ code }) => code);
      expect(new Set(codes).size).toBe(codes.length);
      for (const knob of family.knobs) {
        expect(knob.min).toBeLessThan(knob.max);
        for (const code of knob.answers) expect(codes).toContain(code);
      }
      expect(family.guideline.length).toBeGreaterThan(100);
      for (const knob of family.knobs) expect(family.guideline).toContain(knob.name);
    });

    it("knobs go out as a table and back", () => {
      const table = family.knobTable(config);
      expect(Object.keys(table).sort()).toEqual([...family.strata(config)].sort());
      for (const knobs of Object.values(table)) expect(Object.keys(knobs).sort()).toEqual(family.knobs.map(({ name }) => name).sort());
      expect(family.withKnobs(config, table)).toEqual(config);
      const [stratum] = family.strata(config);
      const ratio = family.knobs.find(({ kind }) => kind === "ratio");
      if (ratio === undefined) return;
      const moved = family.withKnobs(config, { [stratum!]: { [ratio.name]: ratio.min } });
      expect(family.knobTable(moved)).toEqual({ ...table, [stratum!]: { ...table[stratum!], [ratio.name]: ratio.min } });
    });

    it("normalise repairs shares and bounds, says so, and is idempotent", () => {
      const once = family.normalise(config);
      expect(family.normalise(once.config)).toEqual({ config: once.config, repairs: [] });
      for (const knob of family.knobs) {
        const strata = family.strata(config);
        const beyond = Object.fromEntries(strata.map((stratum) => [stratum, { [knob.name]: knob.max + 1 }]));
        const { config: normal, repairs } = family.normalise(family.withKnobs(config, beyond));
        expect(repairs.length).toBeGreaterThan(0);
        const values = Object.values(family.knobTable(normal)).map((knobs) => knobs[knob.name]!);
        if (knob.kind === "ratio") expect(values).toEqual(strata.map(() => knob.max));
        else expect(values.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
        expect(family.normalise(normal).repairs).toEqual([]);
      }
    });

    it("random configs are seeded, feasible and normal", () => {
      const draw = (index: number) => family.randomConfig(config, seed.child("random").at(index));
      expect(draw(0)).toEqual(draw(0));
      expect(new Set(Array.from({ length: 20 }, (_, i) => canonicalJson(draw(i)))).size).toBe(20);
      for (let i = 0; i < 20; i++) {
        const drawn = parseWith(family.configSchema, draw(i), "random config");
        expect(family.strata(drawn)).toEqual(family.strata(config));
        expect(family.infeasible(drawn)).toEqual([]);
        expect(family.normalise(drawn).repairs).toEqual([]);
      }
    });

    it("generates exactly the count, meets its quotas exactly, and every instance passes its schema", async () => {
      expect(family.infeasible(config)).toEqual([]);
      const { instances, manifest } = await generated();
      expect(instances).toHaveLength(count);
      for (const [what, found, asked] of options.quotas(instances)) expect(found, what).toBe(asked);
      for (const instance of instances) {
        parseWith(family.instanceSchema, instance, "instance");
        expect(family.strata(config)).toContain(family.stratum(instance));
      }
      expect(new Set(instances.map(({ hash }) => hash)).size).toBe(count);
      expect(new Set(instances.map(({ id }) => id)).size).toBe(count);
      datasetManifestSchema.parse(manifest);
      expect(manifest).toMatchObject({ family: family.name, count, seed: seed.path });
      for (const stratum of family.strata(config)) {
        expect(manifest.strata[stratum]!.count).toBe(instances.filter((instance) => family.stratum(instance) === stratum).length);
      }
    });

    it("the same seed gives the same bytes, another seed gives others", async () => {
      const first = await generated();
      const again = await family.generate(config, { count, seed });
      expect(text(again.instances)).toBe(text(first.instances));
      expect(again.manifest).toEqual(first.manifest);
      const other = await family.generate(config, { count, seed: Seed.root("conformance, another seed") });
      expect(other.manifest.sha256).not.toBe(first.manifest.sha256);
      const shared = new Set(first.instances.map(({ hash }) => hash));
      expect(other.instances.filter(({ hash }) => shared.has(hash)).length).toBeLessThan(count / 2);
    });

    it("one worker and three give the same bytes", async () => {
      const bigger = 4 * count;
      const one = await family.generate(config, { count: bigger, seed, workers: 1 });
      const three = await family.generate(config, { count: bigger, seed, workers: 3 });
      expect(text(three.instances)).toBe(text(one.instances));
      expect(three.manifest).toEqual(one.manifest);
    });

    it("never generates an excluded instance", async () => {
      const first = await generated();
      const exclude = new Set(first.instances.map(({ hash }) => hash));
      const second = await family.generate(config, { count, seed, exclude });
      expect(second.instances).toHaveLength(count);
      expect(second.instances.filter(({ hash }) => exclude.has(hash))).toEqual([]);
      expect(second.manifest.excluded_hashes).toBe(exclude.size);
    });

    it("stops when it is told to", async () => {
      await expect(family.generate(config, { count: 10 * count, seed, signal: AbortSignal.abort() })).rejects.toThrow("interrupted");
    });

    it("the evaluation set does not depend on the config's ratios", async () => {
      const moved = family.randomConfig(config, seed.child("balanced").at(0));
      const one = await family.generateBalanced(config, { count, seed });
      const two = await family.generateBalanced(moved, { count, seed });
      expect(one.instances).toHaveLength(count);
      expect(text(two.instances)).toBe(text(one.instances));
      const perStratum = family
        .strata(config)
        .map((stratum) => one.instances.filter((instance) => family.stratum(instance) === stratum).length);
      expect(Math.max(...perStratum) - Math.min(...perStratum)).toBeLessThanOrEqual(count / family.strata(config).length / 2);
    });

    it("accepts its own demonstration as valid and optimal, in both renderings, under every objective", async () => {
      const { instances } = await generated();
      for (const instance of instances) {
        for (const rendering of RENDERINGS) {
          for (const objective of family.objectives) {
            const answer = family.demonstrate(instance, objective, rendering);
            expect(family.demonstrate(instance, objective, rendering)).toBe(answer);
            const verdict = verdictSchema.parse(family.verify(instance, answer, "stop", rendering));
            expect(verdict, answer).toMatchObject({ ok: true, code: "valid", counts: {} });
            expect(verdict.optimal[objective], `${objective}: ${answer}`).toBe(true);
            expect(family.verify(instance, answer, "length", rendering).ok).toBe(false);
          }
        }
      }
    });

    it("refuses a demonstration that is cut short, or that answers another instance", async () => {
      const { instances } = await generated();
      const codes = family.failureCodes.map(({ code }) => code);
      for (const rendering of RENDERINGS) {
        let foreign = 0;
        instances.forEach((instance, i) => {
          const answer = family.demonstrate(instance, family.objectives[0]!, rendering);
          const short = family.verify(instance, answer.slice(0, Math.floor(answer.length / 2)), "stop", rendering);
          expect(short.ok).toBe(false);
          expect(codes).toContain(short.code);
          if (!family.verify(instances[(i + 1) % instances.length]!, answer, "stop", rendering).ok) foreign++;
        });
        expect(foreign).toBeGreaterThan(0.9 * instances.length);
      }
    });

    it("is total: any text gets a verdict with a declared code", async () => {
      const { instances } = await generated();
      const codes = ["valid", ...family.failureCodes.map(({ code }) => code)];
      const random = seed.child("garbage").at(0);
      const answer = family.demonstrate(instances[0]!, family.objectives[0]!, "chat");
      for (let i = 0; i < 300; i++) {
        const letters = Array.from({ length: random.below(80) }, () => random.pick([...answer, "\u0000", "\ud83e", "<", ">", "\n", " "]));
        const garbage = random.pick(["", answer.slice(0, random.below(answer.length)), "<think>"]) + letters.join("");
        for (const rendering of RENDERINGS) {
          const verdict = verdictSchema.parse(family.verify(random.pick(instances), garbage, "stop", rendering));
          expect(codes).toContain(verdict.code);
          expect(verdict.ok).toBe(verdict.code === "valid");
        }
      }
    });

    it("prompts are lossless in both renderings; compact ones use the closed vocabulary", async () => {
      const { instances } = await generated();
      const words = family.compactWords.map(({ word }) => word).sort((a, b) => b.length - a.length);
      expect(new Set(words).size).toBe(words.length);
      expect(words).toContain(family.compactPromptEnd);
      const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      const closed = new RegExp(`^(?:${escaped.join("|")})*$`);
      for (const instance of instances) {
        for (const rendering of RENDERINGS) {
          expect(options.readPrompt(family.prompt(instance, rendering), rendering)).toEqual(options.problem(instance));
        }
        expect(family.prompt(instance, "compact")).toMatch(closed);
        expect(family.prompt(instance, "compact").endsWith(family.compactPromptEnd)).toBe(true);
        expect(family.demonstrate(instance, family.objectives[0]!, "compact")).toMatch(closed);
      }
    });

    it("completes a bare record to the same instance, and refuses what is none", async () => {
      const { instances } = await generated();
      for (const instance of instances.slice(0, 10)) {
        expect(family.complete(instance)).toEqual(instance);
        const bare = options.problem(instance);
        expect(family.complete(bare).hash).toBe(instance.hash);
        const identified = family.identify?.(bare) ?? instance;
        expect([identified.hash, family.stratum(identified as I)]).toEqual([instance.hash, family.stratum(instance)]);
      }
      for (const nothing of [undefined, null, 3, "x", [], {}]) expect(() => family.complete(nothing)).toThrow(InputError);
    });
  });
}
