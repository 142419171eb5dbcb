/**
 * The form of a chat answer: `{rationale, config: {stratum: {knob: value}}}`, as JSON Schema for endpoints that can hold a model to it and
 * as one worked example for the prompt. What it must satisfy beyond its form is in knob-table.ts.
 */
import type { EnvironmentFamily, KnobTable } from "../core/index.js";

/** JSON Schema (draft 2020-12) of an answer over these strata; every stratum and knob is asked for. */
export function answerSchema(strata: readonly string[], family: EnvironmentFamily): Record<string, unknown> {
  const row = {
    type: "object",
    properties: Object.fromEntries(family.knobs.map((k) => [k.name, { type: "number", minimum: k.min, maximum: k.max }])),
    required: family.knobs.map((k) => k.name),
    additionalProperties: false,
  };
  return {
    type: "object",
    properties: {
      rationale: { type: "string" },
      config: {
        type: "object",
        properties: Object.fromEntries(strata.map((s) => [s, row])),
        required: [...strata],
        additionalProperties: false,
      },
    },
    required: ["rationale", "config"],
    additionalProperties: false,
  };
}

/** An answer that is right in form and says nothing: equal shares, every ratio at three tenths of its range. */
export function exampleAnswer(strata: readonly string[], family: EnvironmentFamily): { rationale: string; config: KnobTable } {
  const config: KnobTable = Object.fromEntries(strata.map((s) => [s, {}]));
  for (const knob of family.knobs) {
    strata.forEach((stratum, i) => {
      config[stratum]![knob.name] = knob.kind === "share" ? equalShare(i, strata.length) : tidy(knob.min + 0.3 * (knob.max - knob.min));
    });
  }
  return { rationale: "Why these values answer the failures above, in two or three sentences.", config };
}

/** Hundredths that sum to 1. */
function equalShare(index: number, count: number): number {
  const base = Math.floor(100 / count);
  return (base + (index < 100 - base * count ? 1 : 0)) / 100;
}

const tidy = (value: number) => Math.round(value * 100) / 100;
