/**
 * The filter's query as text that can be changed and asked: one SELECT over the run's tables, reading only. What is asked is in the address;
 * what is refused is said below the text. A query that came with the address is shown and waits: whoever follows a link decides what is asked.
 */
import { useEffect, useState } from "preact/hooks";
import type { RolloutPage, SqlAnswer, SqlTables } from "../../../../src/ui/records.js";
import { useApi } from "../../api.js";
import { count } from "../../format.js";
import { Problem } from "../../parts.js";
import { href, route } from "../../route.js";

export function SqlBox({ run, page, query }: { run: string; page: RolloutPage; query: URLSearchParams }) {
  const asked = query.get("sql");
  const [confirmed, setConfirmed] = useState<string | null>(null);
  const waits = asked !== null && asked !== confirmed;
  const own = asked ?? page.sql;
  const [text, setText] = useState(own);
  useEffect(() => setText(own), [own]);
  const path = `runs/${encodeURIComponent(run)}`;
  const { data, problem, reload } = useApi<SqlAnswer>(
    asked === null || waits ? undefined : `${path}/sql?${new URLSearchParams({ sql: asked })}`,
  );
  const submit = (sql: string | null): void => {
    setConfirmed(sql);
    if (sql === asked) {
      reload();
      return;
    }
    const q = new URLSearchParams(query);
    if (sql === null) q.delete("sql");
    else q.set("sql", sql);
    route.replaceQuery(q);
  };
  return (
    <details class="panel sql-box" open={asked !== null}>
      <summary>The query under this filter (SQL)</summary>
      <p class="muted small">Change it and run it: one SELECT of DuckDB over this run's tables. It only reads.</p>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          submit(text);
        }}
      >
        <textarea
          class="sql"
          aria-label="SQL"
          rows={Math.min(16, Math.max(4, text.split("\n").length + 1))}
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
            e.preventDefault();
            submit(text);
          }}
        />
        <div class="sql-actions">
          <button type="submit">Run</button> <span class="muted small">Ctrl Enter</span>
          {text === page.sql && asked === null ? null : (
            <button
              type="button"
              class="plain"
              onClick={() => {
                setText(page.sql);
                submit(null);
              }}
            >
              back to the filter's query
            </button>
          )}
        </div>
      </form>
      <div aria-live="polite">
        {problem === undefined ? null : <Problem problem={problem} />}
        {waits ? <p class="muted">This query came with the address and has not been asked: Run asks it.</p> : null}
        {asked !== null && !waits && data === undefined && problem === undefined ? <p class="muted">Asking …</p> : null}
        {data === undefined || problem !== undefined ? null : <Answer run={run} answer={data} />}
      </div>
      <Tables path={path} />
      <details class="numbers">
        <summary>This table outside of the page</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <pre class="sql" tabIndex={0}>
          {page.view}
        </pre>
        <p class="muted small">
          For any DuckDB; the filter's query runs over it. On the command line the tables are there by themselves:{" "}
          <code>envwright sql</code>.
        </p>
      </details>
    </details>
  );
}

const NUMBER = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/;

function Answer({ run, answer }: { run: string; answer: SqlAnswer }) {
  const { columns, rows, more } = answer;
  const place = (name: string): number => columns.findIndex((c) => c.name === name);
  const [id, stage, set] = [place("id"), place("stage"), place("set")];
  const linked = id >= 0 && stage >= 0 && set >= 0 && rows.some((row) => /\/(train|validation)\//.test(String(row[id])));
  const shown = (value: SqlAnswer["rows"][number][number] | undefined): string => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  };
  return (
    <>
      <p class="found">
        <strong>{more ? `first ${count(rows.length)}` : count(rows.length)}</strong> {rows.length === 1 ? "row" : "rows"}{" "}
        <span class="muted">in {answer.milliseconds} ms</span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll answer" tabIndex={0} aria-label="Answer">
        <table>
          <thead>
            <tr>
              {columns.map((c, i) => (
                <th key={`${c.name}${String(i)}`} scope="col" title={c.type} class={NUMBER.test(c.type) ? "number" : ""}>
                  {c.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, r) => (
              <tr key={r}>
                {columns.map((c, i) => (
                  <td key={`${c.name}${String(i)}`} class={NUMBER.test(c.type) ? "number" : ""}>
                    {linked && i === id ? (
                      <a href={href("run", run, "rollout", shown(row[set]), shown(row[stage]), shown(row[id]))}>{shown(row[i])}</a>
                    ) : row[i] === null ? (
                      <span class="muted">null</span>
                    ) : (
                      shown(row[i])
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {more ? <p class="muted small">There are more rows than are shown; add a LIMIT, or group them.</p> : null}
    </>
  );
}

/** Read when it is opened: naming columns needs a look into every file. */
function Tables({ path }: { path: string }) {
  const [open, setOpen] = useState(false);
  const { data, problem } = useApi<SqlTables>(open ? `${path}/tables` : undefined);
  return (
    <details class="numbers" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Tables and columns</summary>
      {problem === undefined ? null : <Problem problem={problem} />}
      <dl class="sql-tables">
        {data?.tables.map(({ name, columns }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              {columns.map((c) => (
                <span key={c.name} class="nowrap">
                  {c.name} <span class="muted small">{c.type.length > 24 ? c.type.replace(/\(.*/s, "(…)") : c.type}</span>
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      {data === undefined ? null : (
        <p class="muted small">
          At most {count(data.limits.rows)} rows, {data.limits.seconds} s, and {count(data.limits.text)} characters of a value.
        </p>
      )}
    </details>
  );
}
