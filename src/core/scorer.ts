/**
 * Scorer: completions of one prompt → verdicts, rewards and group-relative advantages. The one place where text becomes a number; every
 * trainer, embedded or remote, is given this and computes no reward of its own.
 */
import type { FinishReason, InstanceBase, Reward, Verdict } from "./records.js";

export interface ScoredCompletion {
  verdict: Verdict;
  reward: Reward;
  /** Group-relative; exactly 0 for a group without variance. */
  advantage: number;
}

/** A completion that the reward service has judged, with what the loop keeps of a rollout. Advantages are the engine's and are not seen. */
export interface JudgedCompletion {
  /** The instance's id. */
  instance: string;
  completion: string;
  tokens: number;
  finishReason: FinishReason;
  verdict: Verdict;
  reward: Reward;
}

export interface GroupScore {
  completions: ScoredCompletion[];
  /** All rewards of the group were equal. */
  zeroVariance: boolean;
}

/** Rewards closer than this are equal: far below any difference that a reward can express, far above rounding. */
const EQUAL_REWARDS = 1e-9;

/** Whether a group's rewards, lowest to highest, carry no information about which completion was better. */
export function withoutVariance(lowest: number, highest: number): boolean {
  return highest - lowest <= EQUAL_REWARDS;
}

/** What has to be saved with a checkpoint for rewards to go on as they were. */
export interface ScorerState {
  /** Moving average of the valid rate, on which the accuracy weight depends. */
  ema_valid: number;
}

export interface Scorer<I extends InstanceBase = InstanceBase> {
  scoreGroup(instance: I, completions: readonly { text: string; tokens: number; finishReason: FinishReason }[]): GroupScore;
  /** Moves the adaptive weights; called once per training step with that step's valid rate. */
  update(validRate: number): void;
  state(): ScorerState;
  load(state: ScorerState): void;
}
