/**
 * Readers for tests: compact words back to the view they show, and the tables of a chat prompt back to the same view. They parse what was
 * rendered and share no code with the renderers but the levels.
 */
import type { EnvironmentFamily } from "../core/index.js";
import { knobLevels, type Level, levelOf, splitWords } from "./compact-language.js";
import type { CompactView, EarlierStratumView, StratumView } from "./compact-view.js";

export function readView(prompt: string, family: EnvironmentFamily): CompactView {
  const words = splitWords(prompt)!;
  let at = 0;
  const take = (pattern: RegExp): string => {
    const match = pattern.exec(words[at] ?? "");
    if (match === null) throw new Error(`word ${at} is ${words[at]}, expected ${pattern}`);
    at++;
    return match[1] ?? "";
  };
  const next = (word: string) => words[at] === word && ++at > 0;
  const level = (): Level | null => {
    const read = take(/^<level:(\d+|none)>$/);
    return read === "none" ? null : Number(read);
  };
  const knobs = () => Object.fromEntries(family.knobs.map((k) => [k.name, level()!]));
  const atStratum = () => words[at]?.startsWith("<stratum:") === true;
  const view: CompactView = { guideline: false, training: null, history: [], current: [] };
  take(/^<engineer>$/);
  view.guideline = next("<guideline>");
  if (next("<training>")) {
    const progress = level()!;
    const full = words[at]?.startsWith("<objective:") ? { objective: take(/^<objective:(.*)>$/), weight: level()! } : null;
    view.training = { progress, full };
  }
  if (next("<history>")) {
    while (next("<step>")) {
      const stage: EarlierStratumView[] = [];
      while (atStratum()) {
        const stratum = take(/^<stratum:(.*)>$/);
        const valid = level();
        const code = take(/^<code:(.*)>$/);
        stage.push({ stratum, valid, code: code === "none" ? null : code, share: level()!, knobs: knobs() });
      }
      view.history.push(stage);
    }
  }
  take(/^<current>$/);
  while (atStratum()) {
    const stratum = take(/^<stratum:(.*)>$/);
    const [valid, optimal] = [level(), level()];
    const codes = Object.fromEntries(family.failureCodes.map((c) => [c.code, level()!]));
    const [gap, tokens, zeroVariance] = [level(), level(), level()];
    view.current.push({ stratum, valid, optimal, codes, gap, tokens, zeroVariance, knobs: knobs() });
  }
  take(/^<propose>$/);
  if (at !== words.length) throw new Error("words after the end of the prompt");
  return view;
}

/** The view that a reader of the Markdown would quantise; `earlierStages` newest earlier stages of those shown are kept. */
export function readChat(markdown: string, family: EnvironmentFamily, earlierStages: number): CompactView {
  const body = section(markdown, "Failures");
  const limit = Number(/Answers end at (\d+) tokens/.exec(body)![1]);
  const [validation, training, environment] = tablesOf(body);
  const current: StratumView[] = validation!.map((row, i) => {
    const trained = training![i]!["no variance"]!;
    return {
      stratum: row[family.stratumLabel]!,
      valid: quantity(row.valid!, 1),
      optimal: quantity(row.optimal!, 1),
      codes: codeLevels(row, family),
      gap: quantity(row["cost gap"]!, 0.5),
      tokens: quantity(row.tokens!, limit),
      zeroVariance: quantity(trained, 1),
      knobs: knobRow(environment!, i, family),
    };
  });
  const history = section(markdown, "History")
    .split(/^### /m)
    .slice(1)
    .slice(-earlierStages || Number.POSITIVE_INFINITY)
    .map((stage) => earlierStage(stage, family));
  const details = section(markdown, "Training");
  const stage = /(\d+) of (\d+) stages done/.exec(details);
  const weight = /it is ([\d.]+) now/.exec(details);
  const objective = /objective: ([^;\n]+)/.exec(details);
  return {
    guideline: section(markdown, "Guideline") !== "",
    training:
      stage === null
        ? null
        : {
            progress: levelOf(Number(stage[1]) / Number(stage[2])),
            full: weight === null ? null : { objective: objective![1]!, weight: levelOf(Number(weight[1])) },
          },
    history,
    current,
  };
}

function earlierStage(text: string, family: EnvironmentFamily): EarlierStratumView[] {
  const [config, validation] = tablesOf(text);
  return validation!.map((row, i) => {
    const counts = family.failureCodes.map((c) => Number(row[c.code]));
    const failed = counts.reduce((a, b) => a + b, 0);
    const most = Math.max(...counts);
    return {
      stratum: row[family.stratumLabel]!,
      valid: quantity(row.valid!, 1),
      code: failed === 0 ? null : family.failureCodes[counts.indexOf(most)]!.code,
      share: failed === 0 ? 0 : levelOf(most / failed),
      knobs: knobRow(config!, i, family),
    };
  });
}

function codeLevels(row: Record<string, string>, family: EnvironmentFamily): Record<string, Level> {
  const counts = family.failureCodes.map((c) => [c.code, Number(row[c.code])] as const);
  const failed = counts.reduce((sum, [, n]) => sum + n, 0);
  return Object.fromEntries(counts.map(([code, n]) => [code, failed === 0 ? 0 : levelOf(n / failed)]));
}

function knobRow(table: Record<string, string>[], index: number, family: EnvironmentFamily): Record<string, Level> {
  const names = table.map((row) => row[family.stratumLabel]!);
  const values = Object.fromEntries(table.map((row) => [row[family.stratumLabel]!, numbers(row, family)]));
  return knobLevels(values, names, family.knobs)[names[index]!]!;
}

const numbers = (row: Record<string, string>, family: EnvironmentFamily) =>
  Object.fromEntries(family.knobs.map((k) => [k.name, Number(row[k.name])]));

const quantity = (cell: string, scale: number) => (cell === "–" ? null : levelOf(Number.parseFloat(cell) / scale));

function section(markdown: string, title: string): string {
  const parts = markdown.split(/^## /m);
  return parts.find((part) => part.startsWith(`${title}\n`)) ?? "";
}

function tablesOf(text: string): Record<string, string>[][] {
  const tables: Record<string, string>[][] = [];
  for (const block of text.match(/(?:^\|.*\|$\n?)+/gm) ?? []) {
    const rows = block
      .trim()
      .split("\n")
      .map((line) =>
        line
          .slice(1, -1)
          .split("|")
          .map((cell) => cell.trim()),
      );
    tables.push(rows.slice(2).map((cells) => Object.fromEntries(rows[0]!.map((name, i) => [name, cells[i]!]))));
  }
  return tables;
}
