/** The address: `#/part/part?name=value`. Every view, filter and instance has one, so that it can be sent to somebody. */
import { signal } from "@preact/signals";

export interface Route {
  parts: string[];
  query: URLSearchParams;
  list(name: string): string[];
}

function read(): Route {
  const [path = "", query = ""] = window.location.hash.replace(/^#\/?/, "").split("?", 2);
  const search = new URLSearchParams(query);
  const decode = (part: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return {
    parts: path.split("/").filter(Boolean).map(decode),
    query: search,
    list: (name) => (search.get(name) ?? "").split(",").filter(Boolean),
  };
}

const current = signal<Route>(read());

export const route = {
  start(): void {
    window.addEventListener("hashchange", () => {
      current.value = read();
    });
  },
  /** Changes the query without a new entry in the history. */
  replaceQuery(query: URLSearchParams): void {
    const [path] = window.location.hash.split("?", 1);
    const text = query.toString();
    window.history.replaceState(null, "", `${path === "" ? "#/" : path}${text === "" ? "" : `?${text}`}`);
    current.value = read();
  },
};

export function useRoute(): Route {
  return current.value;
}

export function href(...parts: (string | number)[]): string {
  return `#/${parts.map((p) => encodeURIComponent(String(p))).join("/")}`;
}
