/**
 * The process of one free query: it takes the question from its channel, answers there and ends. It looks at its own memory while DuckDB
 * works, and ends with whoever started it.
 */
import { InputError } from "../core/errors.js";
import { askReadOnly } from "./read-only-sql.js";
import type { SqlQuestion, SqlReply } from "./sql-process.js";

/** Milliseconds between two looks; DuckDB fills about 1 GB in a second. */
const LOOK_EVERY = 20;

process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

process.once("message", ({ views, sql, limits, bytes }: SqlQuestion) => {
  process.send?.({ kind: "begun" } satisfies SqlReply);
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() <= bytes) return;
    clearInterval(watch);
    reply({ kind: "memory" });
  }, LOOK_EVERY);
  askReadOnly(views, sql, undefined, limits).then(
    (answer) => reply({ kind: "answer", answer }),
    (error: unknown) => {
      if (!(error instanceof InputError)) return reply({ kind: "failure", message: String((error as Error).message) });
      const { message, value, expected, remedy } = error;
      reply({ kind: "refusal", detail: { message, value, ...(expected && { expected }), ...(remedy && { remedy }) } });
    },
  );
});

/** Ends at once when it is said: DuckDB may still be at work. */
function reply(message: SqlReply): void {
  process.send?.(message, () => process.kill(process.pid, "SIGKILL"));
}
