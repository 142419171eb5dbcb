/**
 * A Ray head node of a test's own, on loopback. Waits of Ray's that a busy machine can outlast are lengthened, and a start that failed is made
 * again. Nothing listens on Ray's usual ports: a job server whose agent finds its port taken comes up and takes no job.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RayJobs } from "../src/trainers/index.js";

export interface RayHead {
  /** Of its job server. */
  address: string;
  stop(): Promise<void>;
}

const ENVIRONMENT = {
  RAY_DASHBOARD_STARTUP_TIMEOUT_S: "300",
  RAY_agent_register_timeout_ms: "300000",
  RAY_worker_register_timeout_seconds: "300",
  RAY_health_check_initial_delay_ms: "60000",
  RAY_health_check_timeout_ms: "60000",
  // Not of interest here: how full others have made memory and disk, and metrics.
  RAY_memory_monitor_refresh_ms: "0",
  RAY_local_fs_capacity_threshold: "1",
  RAY_enable_metrics_collection: "0",
};

/** Starts one and waits until a job has gone through it. @throws {Error} with Ray's own words after `attempts` starts that failed. */
export async function startRayHead(python: string, attempts = 4): Promise<RayHead> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(python);
    } catch (error) {
      if (attempt >= attempts) throw error;
      console.warn(`Ray, start ${attempt}: ${(error as Error).message.slice(0, 1000)}`);
    }
  }
}

/** @throws {Error} if nothing is left of what `ray start` began, or no job has gone through within `seconds` of it. */
async function startOnce(python: string, seconds = 180): Promise<RayHead> {
  // Short: Ray puts sockets in it, whose paths may have 107 bytes.
  const folder = mkdtempSync("/tmp/ray-");
  const [port, dashboard, client] = await freePorts(3);
  const options = {
    port,
    "node-ip-address": "127.0.0.1",
    "dashboard-host": "127.0.0.1",
    "dashboard-port": dashboard,
    "dashboard-agent-listen-port": 0,
    "ray-client-server-port": client,
    "num-cpus": 1,
    "object-store-memory": 80_000_000,
    "temp-dir": folder,
  };
  const log = join(folder, "start.log");
  const file = openSync(log, "w");
  // Without --block: that would end the node with the first of its processes that ends, the server of Ray's own client after 30 s for one.
  const start = spawn(
    join(dirname(python), "ray"),
    ["start", "--head", "--disable-usage-stats", ...Object.entries(options).map(([name, value]) => `--${name}=${value}`)],
    { detached: true, stdio: ["ignore", file, file], env: { ...process.env, ...ENVIRONMENT } },
  );
  closeSync(file);
  const stop = async (): Promise<void> => {
    // All processes of the node are of the group that `ray start` began. Where nobody reaps orphans, the group stays.
    for (let look = 0; start.pid !== undefined && signalGroup(start.pid, "SIGKILL") && look < 50; look++) await sleep(100);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const [code] = await once(start, "exit");
    const ended = () => `ray start ended with ${code}: ${readFileSync(log, "utf8").slice(-3000)}`;
    // It looks for the node for 30 s and no longer; what it has begun may go on all the same.
    if (code !== 0 && !signalGroup(start.pid!, 0)) throw new Error(ended());
    const address = `http://127.0.0.1:${dashboard}`;
    await takesJobs(address, seconds).catch((error: Error) => {
      throw new Error(`${error.message}\n${ended()}`);
    });
    return { address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function takesJobs(address: string, seconds: number): Promise<void> {
  const jobs = new RayJobs(address, { attempts: 1, every: 200 });
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const failure = await throughOne(jobs);
    if (failure === undefined) return;
    if (Date.now() > deadline) throw new Error(`the Ray head node took no job in ${seconds} s: ${failure}`);
    await sleep(500);
  }
}

/** Undefined once a job has gone through. */
async function throughOne(jobs: RayJobs): Promise<string | undefined> {
  try {
    const { status, message } = await jobs.follow(await jobs.submit({ entrypoint: "true" }), { onLine: () => {} });
    return status === "SUCCEEDED" ? undefined : `${status}: ${message}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether there was a process in the group. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Different ones, of which nobody listens on any now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
