/** `envwright serve --openenv`: MAPF-FrozenLake by the OpenEnv protocol. */
import { InputError } from "../core/index.js";
import { familyByName } from "../environments/index.js";
import { mapfFrozenLake } from "../environments/mapf-frozenlake/index.js";
import type { ServedPart } from "../server/host.js";
import { openEnvPart } from "../server/openenv/index.js";
import { versions } from "../store/index.js";
import type { ServeRequest } from "./serve-modes.js";

export async function openOpenEnv({ family, sessions: { most, idle, heartbeat } }: ServeRequest): Promise<ServedPart> {
  const { name } = familyByName(family);
  if (name !== mapfFrozenLake.name) {
    throw new InputError({
      message: `--openenv does not serve the family ${name}`,
      value: name,
      expected: mapfFrozenLake.name,
      remedy: "leave --family out",
    });
  }
  return openEnvPart({
    version: versions().envwright!,
    limits: { sessions: most, idle: idle * 1000, heartbeat: heartbeat * 1000 },
  });
}
