import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { BoundaryError } from "../../core/index.js";
import { RayJobs, rayRunner } from "./ray-jobs.js";

/** A job server whose job is in `state`, and which answers nothing but 500 where `lost` says so. */
class FakeRay {
  state = "RUNNING";
  submitted = 0;
  stopped = 0;
  /** Whether it has taken every id that it is given. */
  taken = false;
  lost: (what: "submit" | "look" | "stop") => boolean = () => false;
  private server!: Server;

  async start(attempts = 1): Promise<RayJobs> {
    this.server = createServer((request, response) => {
      request.resume();
      const answer = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body));
      const stop = request.url!.endsWith("/stop");
      const what = stop ? "stop" : request.method === "POST" ? "submit" : "look";
      if (what === "submit") this.submitted++;
      if (this.lost(what)) return answer(500, {});
      if (what === "submit" && this.taken) return response.writeHead(500).end("ValueError: Job with submission_id mine already exists.");
      if (what === "submit") return answer(200, {});
      if (stop) {
        this.stopped++;
        if (this.state === "RUNNING") this.state = "STOPPED";
        return answer(200, { stopped: true });
      }
      return answer(200, request.url!.endsWith("/logs") ? { logs: "begun\n" } : { status: this.state });
    });
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    const { port } = this.server.address() as AddressInfo;
    return new RayJobs(`http://127.0.0.1:${port}`, { attempts, every: 5, boundary: "verl" });
  }

  close(): void {
    this.server.close();
  }
}

let ray: FakeRay;
afterEach(() => ray.close());
const command = { command: "python", args: [], cwd: "/", env: {} };
const failure = async (jobs: RayJobs) => (await rayRunner(jobs)(command, { onLine: () => {} }).catch((e: unknown) => e)) as BoundaryError;

test("a job that was lost sight of is stopped before its failure is told, so that the next attempt has the folder to itself", async () => {
  ray = new FakeRay();
  let looks = 0;
  ray.lost = (what) => what === "look" && ++looks === 3;
  const error = await failure(await ray.start());
  expect(error).toBeInstanceOf(BoundaryError);
  expect(error.boundary).toBe("verl");
  expect([ray.state, ray.stopped]).toEqual(["STOPPED", 1]);
});

test("a job that cannot be stopped either may still be training: its failure is not the engine's, which would be tried again", async () => {
  ray = new FakeRay();
  ray.lost = (what) => what !== "submit";
  const error = await failure(await ray.start());
  expect(error.boundary).toBe("ray-job");
  expect(error.explain()).toMatch(/may still be training[\s\S]*ray job stop envwright-/);
});

test("a submission whose answer was lost is stopped too", async () => {
  ray = new FakeRay();
  ray.lost = (what) => what === "submit";
  expect((await failure(await ray.start())).boundary).toBe("verl");
  expect([ray.submitted, ray.state]).toEqual([1, "STOPPED"]);
});

test("a job that succeeded while nobody could look has succeeded", async () => {
  ray = new FakeRay();
  let looks = 0;
  ray.lost = (what) => {
    if (what !== "look" || ++looks !== 3) return false;
    ray.state = "SUCCEEDED";
    return true;
  };
  const end = await rayRunner(await ray.start())(command, { onLine: () => {} });
  expect(end).toMatchObject({ ok: true, status: "SUCCEEDED" });
});

test("an id that is taken is not asked for again: it is ours, where nobody else can have chosen it, and refused otherwise", async () => {
  ray = new FakeRay();
  ray.taken = true;
  const jobs = await ray.start(6);
  expect(await jobs.submit({ entrypoint: "true", submission_id: "mine" }, true)).toBe("mine");
  await expect(jobs.submit({ entrypoint: "true", submission_id: "mine" })).rejects.toThrow(/already exists/);
  expect(ray.submitted).toBe(2);
});
