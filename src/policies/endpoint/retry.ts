/**
 * When to ask again. Exponential back-off with full jitter (each wait is drawn from zero to its bound), never sooner than the endpoint's
 * Retry-After, never longer than the longest wait; and a budget over all requests, so that a dead endpoint is not asked without end.
 */
import type { Random } from "../../core/index.js";

export interface RetryOptions {
  most: number;
  first_wait: number;
  longest_wait: number;
  budget: number;
}

/** Milliseconds that a response asks to wait: retry-after-ms, or Retry-After in seconds or as an HTTP date. Undefined when it asks nothing. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const given = headers.get("retry-after")?.trim();
  if (given === undefined || given === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given) * 1000;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

export class Retries {
  private left: number;

  constructor(
    private readonly options: RetryOptions,
    private readonly random: Random,
  ) {
    this.left = options.budget;
  }

  /** Gives back half a retry for an answer, up to the whole budget. */
  answered(): void {
    this.left = Math.min(this.options.budget, this.left + 0.5);
  }

  /**
   * Milliseconds to wait before the attempt after number `attempt` (from 1), or why there is none.
   * @param asked what the endpoint asked to wait, in milliseconds.
   */
  next(attempt: number, asked: number | undefined): number | string {
    const { most, first_wait, longest_wait, budget } = this.options;
    if (attempt > most) return most === 0 ? "no retries are allowed" : `given up after ${most} retries`;
    const longest = longest_wait * 1000;
    if (asked !== undefined && asked > longest) return `the endpoint asks to wait ${Math.ceil(asked / 1000)} s`;
    if (this.left < 1) return `the budget of ${budget} retries is used up`;
    this.left -= 1;
    const jittered = this.random.float() * Math.min(longest, first_wait * 1000 * 2 ** (attempt - 1));
    // A tenth at most on top of what was asked, so that those who were sent away together do not come back together.
    return asked === undefined ? jittered : asked + Math.min(jittered, asked / 10 + 50);
  }
}
