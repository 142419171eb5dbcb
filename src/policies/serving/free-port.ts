/** Ports of this machine, looked at by listening on them for a moment. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { ServingError, type ServingOptions } from "../../core/index.js";

/** The port asked for, or a free one for 0. @throws {ServingError} when another program listens there. */
export async function claimPort(host: string, port: number): Promise<number> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (cause) {
    throw new ServingError({
      message: `${host}:${port} cannot be listened on: ${(cause as Error).message}`,
      value: port,
      expected: "a free port of this machine",
      remedy: "end the program that has it, or set serving.port to 0",
      cause,
    });
  } finally {
    server.close();
  }
}

/** What is wrong with the port that is asked for, as long as nothing of ours listens there; undefined where it is free. */
export async function portTrap({ host, port }: Pick<ServingOptions, "host" | "port">): Promise<string | undefined> {
  try {
    await claimPort(host, port);
  } catch (error) {
    return `serving.port: ${(error as Error).message}`;
  }
  return undefined;
}
