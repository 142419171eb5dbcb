/**
 * What may be spent, in tokens and in money. Checked before each request, so the requests that are under way when it runs out may go over
 * it by at most their own answers.
 */
import type { CompletionUsage } from "../../core/index.js";

export interface BudgetOptions {
  tokens?: number | undefined;
  money?: number | undefined;
  /** For a million tokens. */
  prices?: { prompt: number; completion: number } | undefined;
}

export class Budget {
  promptTokens = 0;
  completionTokens = 0;

  constructor(private readonly options: BudgetOptions) {}

  get money(): number {
    const { prices } = this.options;
    return prices === undefined ? 0 : (this.promptTokens * prices.prompt + this.completionTokens * prices.completion) / 1e6;
  }

  spend({ promptTokens, completionTokens }: CompletionUsage): void {
    this.promptTokens += promptTokens;
    this.completionTokens += completionTokens;
  }

  /** Why nothing more may be asked; undefined while something may. */
  exhausted(): string | undefined {
    const { tokens, money } = this.options;
    const spent = this.promptTokens + this.completionTokens;
    if (tokens !== undefined && spent >= tokens) return `the budget of ${tokens} tokens is used up (${spent} spent)`;
    if (money !== undefined && this.money >= money) return `the budget of ${money} is used up (${this.money.toFixed(4)} spent)`;
    return undefined;
  }
}
