/** Questions to the server, and the stream of a live run. Comes back by itself when the server does. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RunEvent } from "../../src/core/events.js";
import type { ApiProblem } from "../../src/ui/records.js";

export class ApiError extends Error {
  constructor(
    readonly problem: ApiProblem,
    readonly status: number,
  ) {
    super(problem.error);
  }
}

const UNREACHABLE: ApiProblem = {
  error: "The server of this page does not answer.",
  remedy: "Start it again (envwright ui); the page goes on by itself.",
};

export async function ask<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`./api/${path}`, {
      ...(body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (cause) {
    if ((cause as Error).name === "AbortError") throw cause;
    throw new ApiError(UNREACHABLE, 0);
  }
  const value: unknown = await response.json().catch(() => UNREACHABLE);
  if (!response.ok) throw new ApiError(value as ApiProblem, response.status);
  return value as T;
}

export interface Asked<T> {
  data: T | undefined;
  problem: ApiProblem | undefined;
  reload: () => void;
}

/** Asks when `path` changes; keeps what it has while it asks again. @param every milliseconds between repetitions, while the page is seen */
export function useApi<T>(path: string | undefined, every?: number): Asked<T> {
  const [state, setState] = useState<{ path: string | undefined; data?: T; problem?: ApiProblem }>({ path });
  const [turn, setTurn] = useState(0);
  // Before the first paint, not after it: the answer is what the reader waits for.
  useLayoutEffect(() => {
    if (path === undefined) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    ask<T>(path, undefined, abort.signal).then(
      (data) => setState({ path, data }),
      (error: unknown) => {
        if ((error as Error).name === "AbortError") return;
        const problem = error instanceof ApiError ? error.problem : { error: String((error as Error).message), remedy: null };
        setState((old) => ({ ...(old.path === path && old.data !== undefined ? { data: old.data } : {}), path, problem }));
        if (error instanceof ApiError && error.status === 0) timer = setTimeout(() => setTurn((t) => t + 1), 1000);
      },
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [path, turn]);
  useEffect(() => {
    if (every === undefined) return;
    const timer = setInterval(() => document.visibilityState === "visible" && setTurn((t) => t + 1), every);
    return () => clearInterval(timer);
  }, [every]);
  const reload = useCallback(() => setTurn((t) => t + 1), []);
  const fresh = state.path === path;
  return { data: fresh ? state.data : undefined, problem: fresh ? state.problem : undefined, reload };
}

/** Calls `task` once, a moment after the last of several calls: records are written in bursts. */
export function useSoon(task: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(task, 250);
  }, [task]);
}

export type Connection = "connecting" | "live" | "lost";

/**
 * Follows the events of a run from `offset` on, over restarts of the server and of the run. A page that is not seen lets its connection go (a
 * browser has six for one server) and asks again for everything when it is seen.
 */
export function useRunEvents(
  run: string,
  offset: number | undefined,
  on: { event: (event: RunEvent) => void; state: (state: string) => void; again: () => void },
): Connection {
  const [connection, setConnection] = useState<Connection>("connecting");
  const handlers = useRef(on);
  handlers.current = on;
  const started = offset !== undefined;
  useEffect(() => {
    if (!started) return;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let position = offset;
    let missed = false;
    const open = (): void => {
      source = new EventSource(`./api/runs/${encodeURIComponent(run)}/events?from=${position}`);
      source.onopen = () => {
        setConnection("live");
        if (missed) handlers.current.again();
        missed = false;
      };
      source.onerror = () => {
        missed = true;
        setConnection("lost");
        // The browser tries again by itself unless the answer was a refusal; then we do.
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, 1000);
      };
      source.addEventListener("run", (message) => {
        position = Number(message.lastEventId);
        handlers.current.event(JSON.parse(message.data) as RunEvent);
      });
      source.addEventListener("state", (message) => handlers.current.state((JSON.parse(message.data) as { state: string }).state));
      source.addEventListener("reset", () => {
        position = 0;
        handlers.current.again();
      });
    };
    const close = (): void => {
      source?.close();
      clearTimeout(timer);
    };
    const onSight = (): void => {
      close();
      missed = true;
      if (document.visibilityState === "visible") open();
    };
    onSight();
    missed = false;
    document.addEventListener("visibilitychange", onSight);
    return () => {
      close();
      document.removeEventListener("visibilitychange", onSight);
    };
  }, [run, started]);
  return connection;
}
