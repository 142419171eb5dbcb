/** One rollout: the board with the model's plan and an optimal one on the same clock, the verdict, the words, the reward. */
import type { RolloutDetail } from "../../../src/ui/records.js";
import { useApi } from "../api.js";
import { Player } from "../board/player.js";
import { ModelText } from "../model-text.js";
import { Loading, Problem } from "../parts.js";
import { href } from "../route.js";

export function RolloutView({ run, set, stage, id }: { run: string; set: string; stage: string; id: string }) {
  const query = new URLSearchParams({ set, stage, id });
  const { data, problem, reload } = useApi<RolloutDetail>(`runs/${encodeURIComponent(run)}/rollout?${query}`);
  const [before, after] = neighbours(id);
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={href("runs")}>Runs</a> <span aria-hidden="true">/</span> <a href={href("run", run)}>{run}</a>{" "}
        <span aria-hidden="true">/</span> <a href={href("run", run, "rollouts")}>rollouts</a> <span aria-hidden="true">/</span> {id}
      </nav>
      {data === undefined ? (
        problem === undefined ? (
          <Loading what="the rollout" />
        ) : (
          <>
            <h1>Rollout</h1>
            <Problem problem={problem} retry={reload} />
          </>
        )
      ) : (
        <>
          <div class="title-line">
            <h1>
              {data.verdict === null
                ? "No verdict"
                : data.verdict.ok
                  ? data.verdict.optimal[data.objective]
                    ? "Valid and optimal"
                    : "Valid"
                  : data.verdict.code}
            </h1>
            <span class="muted">
              {data.set}, stage {data.stage}
              {data.set === "training" ? `, step ${data.step}, sample ${data.sample}` : ""}
            </span>
            <span class="grow" />
            <nav class="steps" aria-label="Other answers">
              {before === undefined ? null : (
                <a class="button quiet" href={href("run", run, "rollout", set, stage, before)}>
                  ← before
                </a>
              )}
              {after === undefined ? null : (
                <a class="button quiet" href={href("run", run, "rollout", set, stage, after)}>
                  next →
                </a>
              )}
              <a class="button quiet" href={`${href("run", run, "rollouts")}?set=${set}&instance=${encodeURIComponent(data.instance)}`}>
                all answers to it
              </a>
            </nav>
          </div>
          <p class={data.verdict?.ok ? "lede" : "lede bad-text"}>
            {data.failure === null ? data.verdict?.reason : `${data.failure.boundary}: ${data.failure.message}`}
          </p>
          {data.board === null ? (
            data.other === null ? (
              <p class="muted">Its instance is not in the run's folder.</p>
            ) : (
              <pre class="sql">{data.other}</pre>
            )
          ) : (
            <Player rollout={data} board={data.board} />
          )}
          <section class="panel two">
            <div>
              <h2>Facts</h2>
              <dl class="facts list">
                {data.verdict === null
                  ? null
                  : Object.entries(data.verdict.optima).map(([o, optimum]) => (
                      <div key={o}>
                        <dt>{o.replaceAll("_", " ")}</dt>
                        <dd>
                          {data.verdict!.costs?.[o] ?? "–"} <span class="muted">optimum {optimum}</span>
                        </dd>
                      </div>
                    ))}
                {data.reward === null ? null : (
                  <div>
                    <dt>reward</dt>
                    <dd>
                      {data.reward.total.toFixed(4)}{" "}
                      <span class="muted">
                        accuracy {data.reward.accuracy.toFixed(3)}, length {data.reward.length.toFixed(3)}, weight{" "}
                        {data.reward.weight.toFixed(3)}
                      </span>
                    </dd>
                  </div>
                )}
                {data.advantage === null ? null : (
                  <div>
                    <dt>advantage</dt>
                    <dd>{data.advantage.toFixed(4)}</dd>
                  </div>
                )}
                <div>
                  <dt>tokens</dt>
                  <dd>
                    {data.tokens} <span class="muted">ended by {data.finish_reason}</span>
                  </dd>
                </div>
                {data.board === null ? null : (
                  <div>
                    <dt>board</dt>
                    <dd>
                      {data.board.size}×{data.board.size}, {data.board.agents.length} agents, {data.board.holes.length} holes{" "}
                      <span class="muted">
                        {data.board.conflict ? "conflict" : "no conflict"}, {data.board.wait_required ? "needs a wait" : "needs no wait"}
                      </span>
                    </dd>
                  </div>
                )}
                <div>
                  <dt>instance</dt>
                  <dd>
                    <code>{data.instance}</code>
                  </dd>
                </div>
                {data.verdict === null || data.verdict.ok ? null : (
                  <div>
                    <dt>rules broken</dt>
                    <dd>
                      {Object.entries(data.verdict.counts)
                        .map(([c, n]) => `${c} ${n}×`)
                        .join(", ") || "none: there was no plan"}
                    </dd>
                  </div>
                )}
              </dl>
            </div>
            <div>
              <h2>Words</h2>
              <h3>Prompt</h3>
              <ModelText text={data.prompt} label="Prompt" />
              <h3>Completion</h3>
              <ModelText text={data.completion} label="Completion" />
            </div>
          </section>
        </>
      )}
    </>
  );
}

/** Ids end in prompt and sample: the one before and after, as far as the id can say. */
function neighbours(id: string): [string | undefined, string | undefined] {
  const match = /^(.*\/)(\d+)\/(\d+)$/.exec(id);
  if (match === null) return [undefined, undefined];
  const [, head, prompt, sample] = match;
  const n = Number(prompt);
  return [n > 0 ? `${head}${n - 1}/${sample}` : undefined, `${head}${n + 1}/${sample}`];
}
