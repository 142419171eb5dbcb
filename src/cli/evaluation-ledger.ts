/**
 * What is known of an evaluation: for every sample that it wants, whether it is missing, failed outside or answered, and what a report needs
 * of the answer. Keeps no text, so that a hundred thousand samples fit. Judges every stored answer again, and counts where the present
 * verifier says otherwise than the stored verdict; what it says now is what is reported.
 */
import { CorruptFileError, canonicalJson, type InstanceBase, type Rendering, Seed } from "../core/index.js";
import type { AnyFamily } from "../environments/index.js";
import { type JudgedInstance, judgedSample, measuresOf, type SampleRecord } from "../evaluation/index.js";

/** Instances whose samples share a seed's name: part of what is drawn, so it never changes. */
const CHUNK = 256;
const [MISSING, FAILED, ANSWERED] = [0, 1, 2] as const;

export interface Prices {
  /** US dollars for a million tokens. */
  input: number;
  output: number;
}

export interface Slot {
  instance: number;
  sample: number;
}

export class EvaluationLedger {
  readonly judged: JudgedInstance[];
  private readonly state: Uint8Array;
  /** Ids whose stored verdict the present verifier does not share, with both codes. */
  readonly changed: { id: string; stored: string; present: string }[] = [];

  constructor(
    private readonly family: AnyFamily,
    private readonly instances: readonly InstanceBase[],
    private readonly samples: number,
    private readonly rendering: Rendering,
    private readonly prices: Prices | undefined,
  ) {
    this.state = new Uint8Array(instances.length * samples);
    this.judged = instances.map((instance) => {
      const { optima } = family.verify(instance, "", "stop", rendering);
      return {
        stratum: family.stratum(instance),
        tags: family.tags(instance),
        optima: family.objectives.map((name) => optima[name] ?? Number.NaN),
        samples: Array.from({ length: samples }, () => judgedSample(undefined, { tokens: 0 }, family.objectives)),
      };
    });
  }

  get total(): number {
    return this.state.length;
  }

  /** Samples that have an answer. */
  get answered(): number {
    return this.state.reduce((n, s) => n + Number(s === ANSWERED), 0);
  }

  /** Samples without any record. */
  get missing(): number {
    return this.state.reduce((n, s) => n + Number(s === MISSING), 0);
  }

  /**
   * What has to be asked still, in the order of the set: nothing is listed twice, and a failure counts as not asked. The samples of one
   * instance follow each other, so that a policy may ask for them together.
   */
  open(): Slot[] {
    const slots: Slot[] = [];
    for (let instance = 0; instance < this.instances.length; instance++) {
      for (let sample = 0; sample < this.samples; sample++) {
        if (this.state[instance * this.samples + sample] !== ANSWERED) slots.push({ instance, sample });
      }
    }
    return slots;
  }

  /** Takes a record in; the first answer of a sample stays, an answer replaces a failure. @throws {CorruptFileError} for a record of something else. */
  put(record: SampleRecord, from: string): void {
    const slot = this.slotOf(record, from);
    if (this.state[slot] === ANSWERED) return;
    const at = { instance: Math.floor(slot / this.samples), sample: slot % this.samples };
    const verdict =
      record.verdict === undefined
        ? undefined
        : this.family.verify(this.instances[at.instance]!, record.completion, record.finish_reason, this.rendering);
    if (verdict !== undefined && canonicalJson(verdict) !== canonicalJson(record.verdict)) {
      this.changed.push({ id: record.id, stored: record.verdict!.code, present: verdict.code });
    }
    this.state[slot] = verdict === undefined ? FAILED : ANSWERED;
    this.judged[at.instance]!.samples[at.sample] = judgedSample(verdict, this.measured(record), this.family.objectives);
  }

  /** The number of a record's sample, instance by instance. @throws {CorruptFileError} */
  slotOf(record: SampleRecord, from: string): number {
    const [, instance, sample] = /^eval\/(\d+)\/(\d+)$/.exec(record.id)?.map(Number) ?? [];
    const known = instance === undefined ? undefined : this.instances[instance];
    if (known === undefined || sample === undefined || sample >= this.samples || known.id !== record.instance) {
      throw new CorruptFileError({
        message: `${from}: the record ${record.id} of instance ${record.instance} does not belong to this evaluation`,
        value: record.id,
        expected: `eval/<0 to ${this.instances.length - 1}>/<0 to ${this.samples - 1}> with the instance's id`,
        remedy: "restore the file, or start a new evaluation",
      });
    }
    return instance! * this.samples + sample;
  }

  private measured(record: SampleRecord) {
    const measures = measuresOf(record);
    if (measures.price !== undefined || this.prices === undefined || measures.promptTokens === undefined) return measures;
    return { ...measures, price: (measures.promptTokens * this.prices.input + measures.tokens * this.prices.output) / 1e6 };
  }
}

/** The random stream of a sample: named by its place in the set, never by what was asked before. */
export function sampleSeed(root: number, { instance, sample }: Slot): { seed: string; index: number } {
  const first = instance - (instance % CHUNK);
  return { seed: Seed.root("eval").child(root).child("chunk", first, "sample", sample).toString(), index: instance - first };
}
