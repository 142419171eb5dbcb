/**
 * The reward service as a trainer sees it: opened for one stage, closed with it. Who opens it (the loop) knows family, rendering and reward;
 * a trainer knows where it listens and is told what was judged.
 */
import type { JudgedCompletion } from "../../core/index.js";

export interface RewardEndpointOptions {
  host: string;
  /** Moving average of the valid rate at the start of the stage. */
  emaValid: number;
  /** Completions of one training step: the average moves once for each. */
  stepSize: number;
  onJudged: (completions: JudgedCompletion[]) => void;
}

export interface RewardEndpoint {
  url: string;
  token: string;
  emaValid(): number;
  close(): Promise<void>;
}

export type OpenRewardEndpoint = (options: RewardEndpointOptions) => Promise<RewardEndpoint>;
