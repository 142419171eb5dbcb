/** `envwright serve --reward`: the verifier and the reward of a family, as a batch endpoint. */
import { familyByName } from "../environments/index.js";
import { workerCount } from "../loop/index.js";
import type { ServedPart } from "../server/host.js";
import { rewardPart } from "../server/reward/index.js";
import type { ServeRequest } from "./serve-modes.js";

export async function openReward({ family: name, workers }: ServeRequest): Promise<ServedPart> {
  const family = familyByName(name);
  return rewardPart({ family: family.name, rendering: "chat", threads: workerCount(workers) });
}
