/**
 * One batch of the reward service: JSON text → results. Verdicts and rewards are those of the loop, by the same functions. Runs in a
 * worker thread and keeps the instances it has read, since the completions of a group, and of later epochs, share theirs.
 */
import {
  type EnvironmentFamily,
  InputError,
  type InstanceBase,
  type JudgedCompletion,
  type Rendering,
  type Reward,
  type RewardOptions,
  rewardOptionsSchema,
  type Verdict,
} from "../../core/index.js";
import { familyByName } from "../../environments/index.js";
import { accuracyTerm, accuracyWeight, rewardOf } from "../../rewards/index.js";
import { type ItemErrorCode, type ScoreResult, scoreItemSchema, scoreRequestSchema } from "./schema.js";

/** What holds for requests that do not say otherwise. */
export interface JudgeDefaults {
  family: string;
  rendering: Rendering;
  /** The family's first objective unless given. */
  objective?: string | undefined;
  /** Without them the reward is the accuracy term alone: which lengths are short or long is the policy's, and no default would suit. */
  reward?: RewardOptions | undefined;
}

export interface Judgement {
  status: 200 | 400;
  body: string;
  /** Primary codes, and the error codes of items that were not judged, with their counts. */
  codes: Record<string, number>;
  scored: JudgedCompletion[];
}

const MAX_CACHED = 8192;
const { v_min: V_MIN } = rewardOptionsSchema.parse({});

export class Judge {
  private readonly instances = new Map<string, InstanceBase>();

  constructor(private readonly defaults: JudgeDefaults) {}

  /** @param emaValid of the service, for requests that carry none. Total: what is wrong with the text is said in the answer. */
  judge(text: string, emaValid: number): Judgement {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return refusal(`the body is not JSON: ${(error as Error).message}`);
    }
    const parsed = scoreRequestSchema.safeParse(value);
    if (!parsed.success) {
      const issue = parsed.error.issues[0]!;
      return refusal(`${issue.path.join(".") || "the body"}: ${issue.message}`);
    }
    const request = parsed.data;
    let family: EnvironmentFamily<unknown, InstanceBase>;
    try {
      family = familyByName(request.family ?? this.defaults.family) as EnvironmentFamily<unknown, InstanceBase>;
    } catch (error) {
      return refusal((error as Error).message);
    }
    const objective = request.objective ?? this.defaults.objective ?? family.objectives[0]!;
    if (!family.objectives.includes(objective)) return refusal(`objective: ${objective} is not one of ${family.objectives.join(", ")}`);
    const rendering = request.rendering ?? this.defaults.rendering;
    const options = request.reward ?? this.defaults.reward;
    const weight = options === undefined ? 1 : accuracyWeight(request.ema_valid ?? emaValid, options);

    const codes: Record<string, number> = {};
    const scored: JudgedCompletion[] = [];
    const results = request.items.map((given, index): ScoreResult => {
      const item = scoreItemSchema.safeParse(given);
      if (!item.success) {
        const issue = item.error.issues[0]!;
        return failed(idOf(given), index, "invalid-item", `${issue.path.join(".") || "the item"}: ${issue.message}`);
      }
      const { id, completion, finish_reason } = item.data;
      let instance: InstanceBase;
      try {
        instance = this.instance(family, item.data.instance);
      } catch (error) {
        return failed(id, index, "invalid-instance", (error as Error).message);
      }
      const verdict = family.verify(instance, completion, finish_reason, rendering);
      const tokens = item.data.tokens ?? estimatedTokens(completion, rendering);
      let reward: Reward;
      try {
        reward = options === undefined ? accuracyAlone(verdict, objective) : rewardOf(verdict, tokens, objective, weight, options);
      } catch (error) {
        // A plan that beats the recorded optimum shows the record to be wrong.
        if (!(error instanceof InputError)) throw error;
        return failed(id, index, "invalid-instance", error.message);
      }
      scored.push({ instance: instance.id, completion, tokens, finishReason: finish_reason, verdict, reward });
      return resultOf(id, index, verdict, reward, tokens, objective);
    });
    for (const { code, error } of results) {
      const name = error?.code ?? code!;
      codes[name] = (codes[name] ?? 0) + 1;
    }
    return { status: 200, body: JSON.stringify({ results }), codes, scored };
  }

  private instance(family: EnvironmentFamily<unknown, InstanceBase>, given: string | Record<string, unknown>): InstanceBase {
    const text = typeof given === "string" ? given : JSON.stringify(given);
    const key = `${family.name} ${text}`;
    const known = this.instances.get(key);
    if (known !== undefined) return known;
    const instance = family.complete(typeof given === "string" ? parseInstance(given) : given);
    if (this.instances.size >= MAX_CACHED) this.instances.delete(this.instances.keys().next().value!);
    this.instances.set(key, instance);
    return instance;
  }
}

function accuracyAlone(verdict: Verdict, objective: string): Reward {
  const accuracy = accuracyTerm(verdict, objective, V_MIN);
  return { total: accuracy, accuracy, length: 0, weight: 1 };
}

function parseInstance(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InputError({ message: "the instance is not JSON text", expected: "an instance as in the files of `envwright generate`" });
  }
}

function estimatedTokens(completion: string, rendering: Rendering): number {
  if (rendering === "chat") return Math.ceil(completion.length / 3);
  // Every word of the compact rendering is one token and stands in angle brackets; the end of the answer is one more.
  let words = 1;
  for (let at = completion.indexOf("<"); at >= 0; at = completion.indexOf("<", at + 1)) words++;
  return words;
}

function resultOf(id: string | number, index: number, verdict: Verdict, reward: Reward, tokens: number, objective: string): ScoreResult {
  const cost = verdict.costs?.[objective];
  const optimum = verdict.optima[objective]!;
  return {
    id,
    index,
    score: reward.total,
    valid: verdict.ok,
    optimal: verdict.optimal[objective] === true,
    code: verdict.code,
    reason: verdict.reason,
    accuracy: reward.accuracy,
    length: reward.length,
    weight: reward.weight,
    gap: cost === undefined || optimum === 0 ? null : (cost - optimum) / optimum,
    tokens,
    error: null,
  };
}

function failed(id: string | number | null, index: number, code: ItemErrorCode, message: string): ScoreResult {
  const none = { score: null, valid: null, optimal: null, code: null, reason: null, accuracy: null, length: null, weight: null };
  return { id, index, ...none, gap: null, tokens: null, error: { code, message } };
}

function idOf(given: unknown): string | number | null {
  const id = typeof given === "object" && given !== null ? (given as { id?: unknown }).id : undefined;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function refusal(message: string): Judgement {
  const body = JSON.stringify({ error: { message, type: "invalid_request_error" } });
  return { status: 400, body, codes: {}, scored: [] };
}
