/**
 * `human`: a person edits the config and approves it. The question is one YAML file, pre-filled with a config that would be used as it
 * stands and with the evidence as comments; its last line says whether it is approved, so a file that is cut off while it is saved never
 * is. Where the file lies and how it is watched is the desk's business. Refuses an answer as it would refuse a model's, with the reason.
 */
import { parseDocument } from "yaml";
import type { EnvironmentFamily, KnobTable, Proposal } from "../core/index.js";
import { type EngineerContext, stageFacts } from "./context.js";
import type { Engineer, EngineerReply } from "./engineer.js";
import { isObject } from "./knob-table.js";

export interface HumanQuestion {
  /** What stands in the file when nobody has begun to answer. */
  text: string;
  /** Why the answer that is there now could not be used; absent for the first question. */
  refusal?: string;
}

/** Where a question waits for its answer. */
export interface HumanDesk {
  /** The text of the approved answer. @throws {InterruptedError} when the signal is aborted; the question stays where it is. */
  ask(question: HumanQuestion, signal?: AbortSignal): Promise<string>;
}

/** What an approved file says. */
export interface HumanAnswer {
  rationale: string;
  config: unknown;
}

const KEYS = ["rationale", "config", "status"];

/** @param draft another engineer's proposal, to be approved or edited, instead of the current config. */
export function humanEngineer(desk: HumanDesk, draft?: Proposal): Engineer {
  return {
    name: "human",
    rendering: "chat",
    async propose({ context, family, refusals, signal }): Promise<EngineerReply> {
      const refusal = refusals.at(-1)?.reason;
      const text = humanQuestion(context, family, draft);
      const raw = await desk.ask({ text, ...(refusal === undefined ? {} : { refusal }) }, signal);
      const read = readHumanAnswer(raw);
      const common = { raw, tokens: 0, rendering: "none" as const };
      if (typeof read === "string") return { ...common, content: { kind: "failure", message: read } };
      return { ...common, content: { kind: "knobs", table: read.config as KnobTable, rationale: read.rationale } };
    },
  };
}

/** The status that a file gives, if it is whole: `undefined` while it is not YAML with a status at its end. */
export function humanStatus(text: string): "waiting" | "approved" | undefined {
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  const status = /^status:\s*["']?(waiting|approved)["']?\s*(?:#.*)?$/.exec(last)?.[1];
  return status === undefined || parseDocument(text).errors.length > 0 ? undefined : (status as "waiting" | "approved");
}

/** The same text with its status changed: what an approval writes, and what a refused answer is put back to. */
export function withHumanStatus(text: string, status: "waiting" | "approved"): string {
  const body = text.trimEnd().replace(/\n?status:[^\n]*$/, "");
  return `${body}\nstatus: ${status}\n`;
}

/** An approved file → its answer, or why it is none. */
export function readHumanAnswer(text: string): HumanAnswer | string {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) return `not YAML: ${error.message.split("\n")[0]}`;
  const value: unknown = document.toJS();
  if (!isObject(value)) return "not an object of rationale, config and status";
  const stray = Object.keys(value).find((key) => !KEYS.includes(key));
  if (stray !== undefined) return `unknown key ${JSON.stringify(stray.slice(0, 40))} (known: ${KEYS.join(", ")})`;
  const { rationale, config } = value;
  if (rationale !== undefined && rationale !== null && typeof rationale !== "string") return "the rationale is not text";
  return { rationale: rationale ?? "", config };
}

/** The file as it is first written. */
export function humanQuestion(context: EngineerContext, family: EnvironmentFamily, draft?: Proposal): string {
  const strata = family.strata(context.config);
  const current = family.knobTable(context.config);
  const table = draft === undefined ? current : family.knobTable(family.configSchema.parse(draft.config));
  const row = (knobs: Record<string, number> | undefined) =>
    `{ ${family.knobs.map((k) => `${k.name}: ${tidy(knobs?.[k.name] ?? k.min)}`).join(", ")} }`;
  const comments = [
    `Stage ${context.stage} (of ${context.stages}, from 0) is evaluated: choose the config for the next one.`,
    draft === undefined
      ? "Below stands the config of this stage. Edit it, or leave it as it is."
      : `Below stands what ${draft.engineer} proposes (${draft.outcome}). Edit it, or leave it as it is.`,
    "Then set the status on the last line to approved and save. All that the policy did: context.md beside this file.",
    "",
    ...evidence(context, family),
    "",
    ...family.knobs.map((k) => {
      const form = k.kind === "share" ? "shares, normalised to sum to 1" : `${k.min} to ${k.max}`;
      return `${k.name} (${form}): ${k.description}${k.answers.length === 0 ? "" : ` Answers ${k.answers.join(", ")}.`}`;
    }),
    ...(draft === undefined || draft.rationale === "" ? [] : ["", `Why, says ${draft.engineer}: ${draft.rationale.replace(/\s+/g, " ")}`]),
  ];
  return [
    ...comments.map((line) => (line === "" ? "#" : `# ${line}`)),
    'rationale: ""',
    "config:",
    ...strata.map((s) => `  ${JSON.stringify(s)}: ${row(table[s])}${draft === undefined ? "" : `  # now ${row(current[s])}`}`),
    "# waiting or approved",
    "status: waiting",
    "",
  ].join("\n");
}

/** One line a stratum: how often it succeeds, how that changed, and what it fails by. */
function evidence(context: EngineerContext, family: EnvironmentFamily): string[] {
  const previous = context.history.at(-1);
  const before = previous === undefined ? [] : stageFacts(family, previous).strata;
  return stageFacts(family, context).strata.map((s) => {
    const earlier = before.find((b) => b.stratum === s.stratum)?.valid ?? null;
    const percent = (x: number | null) => (x === null ? "not measured" : `${(100 * x).toFixed(1)} %`);
    const change = earlier === null || s.valid === null ? "" : ` (was ${percent(earlier)})`;
    const failures = Object.entries(s.codes)
      .filter(([, count]) => count > 0)
      .sort((a, b) => b[1] - a[1])
      .map(([code, count]) => `${code} ${count}`);
    return `${family.stratumLabel} ${s.stratum}: valid ${percent(s.valid)}${change}, optimal ${percent(s.optimal)} of ${s.n}; ${failures.join(", ") || "no failures"}`;
  });
}

/** Enough places for a person; what is left as it was is recognised within them. */
const PLACES = 7;
const tidy = (value: number) => Number(value.toFixed(PLACES));

/** Whether a table is the draft, as far as its file could say so. */
export function sameKnobs(a: KnobTable, b: KnobTable): boolean {
  const strata = Object.keys(a);
  if (strata.length !== Object.keys(b).length) return false;
  return strata.every((s) =>
    Object.entries(a[s]!).every(([knob, value]) => Math.abs(value - (b[s]?.[knob] ?? Number.NaN)) <= 10 ** (1 - PLACES)),
  );
}
