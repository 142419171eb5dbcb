/** The reward service on a socket of its own: what a trainer starts for its engine. `envwright serve --reward` is the same part on a shared host. */
import { startHost } from "../host.js";
import { type RewardOptionsOfService, rewardPart } from "./part.js";

export interface ServeRewardOptions extends RewardOptionsOfService {
  host?: string;
  /** 0: any free port. */
  port?: number;
  token?: string | undefined;
  maxBody?: number;
  /** How long open batches may take when the service is closed, in milliseconds. */
  grace?: number;
  timeouts?: { headers: number; request: number };
}

export interface RewardService {
  url: string;
  emaValid(): number;
  /** Finishes the batches that are open. */
  close(): Promise<void>;
}

/** @throws {InputError} when the address cannot be used. */
export async function serveReward(options: ServeRewardOptions): Promise<RewardService> {
  const part = rewardPart(options);
  const { host = "127.0.0.1", port = 0, token, maxBody, grace, timeouts } = options;
  try {
    const served = await startHost({
      parts: [part],
      host,
      port,
      token,
      ...(maxBody === undefined ? {} : { maxBody }),
      ...(grace === undefined ? {} : { grace }),
      ...(timeouts === undefined ? {} : { timeouts }),
    });
    return { url: served.url, emaValid: () => part.emaValid(), close: () => served.close() };
  } catch (error) {
    await part.close();
    throw error;
  }
}
