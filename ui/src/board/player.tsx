/**
 * The board player: the model's plan and an optimal one on one clock. Space plays and stops, the arrows step, Home and End jump; the first
 * broken rule is marked on the time line, in words, and on the board at its step, its cells and its agents.
 */
import { useEffect, useReducer, useState } from "preact/hooks";
import type { BoardFacts, RolloutDetail, Track } from "../../../src/ui/records.js";
import { BoardPicture } from "./board.js";
import { type PlayerAction, play } from "./playback.js";

const SPEEDS = [0.5, 1, 2, 4];
/** Steps a second at speed 1. */
const PACE = 1.6;

export function Player({ rollout, board }: { rollout: RolloutDetail; board: BoardFacts }) {
  const { model, optimum } = rollout;
  const last = Math.max(lengthOf(model), lengthOf(optimum));
  const first = model?.broken[0];
  const [{ step, playing }, dispatch] = useReducer(play(last), { step: 0, playing: false });
  const [speed, setSpeed] = useState(1);
  useEffect(() => {
    if (!playing) return;
    // A broken rule is worth a longer look.
    const wait = (1000 / PACE / speed) * (first?.step === step && step > 0 ? 2.5 : 1);
    const timer = setTimeout(() => dispatch("tick"), wait);
    return () => clearTimeout(timer);
  }, [playing, step, speed, first?.step]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const action = actionOf(e);
      if (action === undefined) return;
      dispatch(action);
      e.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  const broken = model?.broken.filter((b) => b.step === step) ?? [];
  const picture = (plan: string, format: string): string =>
    `./api/runs/${encodeURIComponent(rollout.run)}/picture?${new URLSearchParams({ set: rollout.set, stage: String(rollout.stage), id: rollout.id, plan, format })}`;
  return (
    <section class="panel player" aria-label="Board player">
      <div class="boards">
        <figure>
          <figcaption>Plan of the policy {model === null ? null : <span class="muted">{lengthOf(model)} steps</span>}</figcaption>
          <BoardPicture board={board} track={model} step={step} seconds={1 / PACE / speed} label="Plan of the policy" />
          {model === null ? <p class="muted small">The answer holds no plan that could be drawn; this is the board at its start.</p> : null}
        </figure>
        <figure>
          <figcaption>
            An optimal plan{" "}
            <span class="muted">
              {lengthOf(optimum)} steps, {rollout.objective.replaceAll("_", " ")}
            </span>
          </figcaption>
          <BoardPicture board={board} track={optimum} step={step} seconds={1 / PACE / speed} label="An optimal plan" />
        </figure>
      </div>
      <p class={`broken-line ${broken.length > 0 ? "on" : ""}`} aria-live="polite">
        {broken.length > 0 ? (
          <>
            <span aria-hidden="true">⚠</span> step {step}: {broken.map((b) => b.sentence).join("; ")}
          </>
        ) : (
          <span class="muted">
            step {step} of {last}
            {first === undefined ? "" : step < first.step ? `; a rule breaks at step ${first.step}` : `; broken since step ${first.step}`}
          </span>
        )}
      </p>
      <div class="controls">
        <button type="button" onClick={() => dispatch("start")} aria-label="To the start" title="Home">
          |◂
        </button>
        <button type="button" onClick={() => dispatch("back")} disabled={step === 0} aria-label="One step back" title="←">
          ◂
        </button>
        <button type="button" class="play" onClick={() => dispatch("toggle")} aria-label={playing ? "Pause" : "Play"} title="space">
          {playing ? "❚❚" : "▶"}
        </button>
        <button type="button" onClick={() => dispatch("on")} disabled={step === last} aria-label="One step on" title="→">
          ▸
        </button>
        <div class="timeline">
          <input
            type="range"
            min={0}
            max={last}
            value={step}
            aria-label="Step"
            aria-valuetext={`step ${step} of ${last}`}
            onInput={(e) => dispatch({ go: Number(e.currentTarget.value) })}
          />
          {[...new Set(model?.broken.map((b) => b.step) ?? [])].map((s) => (
            <span key={s} class="break-mark" style={{ "--at": s / Math.max(1, last) }} aria-hidden="true" />
          ))}
        </div>
        {first === undefined ? null : (
          <button type="button" class="to-break" onClick={() => dispatch({ go: first.step })}>
            to the broken rule
          </button>
        )}
        <label class="inline">
          speed{" "}
          <select value={String(speed)} onChange={(e) => setSpeed(Number(e.currentTarget.value))}>
            {SPEEDS.map((s) => (
              <option key={s} value={String(s)}>
                {s}×
              </option>
            ))}
          </select>
        </label>
      </div>
      <p class="downloads small">
        Save:{" "}
        {model === null ? null : (
          <>
            <a href={picture("model", "gif")} download>
              plan as GIF
            </a>{" "}
            <a href={picture("model", "svg")} download>
              as SVG
            </a>{" "}
          </>
        )}
        <a href={picture("optimum", "gif")} download>
          optimum as GIF
        </a>{" "}
        <a href={picture("optimum", "svg")} download>
          as SVG
        </a>
        <span class="muted"> · keys: space, ←, →, Home, End</span>
      </p>
    </section>
  );
}

const lengthOf = (track: Track | null): number => (track === null ? 0 : track.positions.length - 1);

/** What a key means to the player; nothing where it belongs to a field or a button. */
function actionOf(e: KeyboardEvent): PlayerAction | undefined {
  const { tagName } = e.target as HTMLElement;
  if (e.ctrlKey || e.metaKey || e.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(tagName)) return undefined;
  if (e.key === " ") return ["BUTTON", "A", "SUMMARY"].includes(tagName) ? undefined : "toggle";
  return KEYS[e.key];
}
const KEYS: Record<string, PlayerAction> = { k: "toggle", ArrowRight: "on", ArrowLeft: "back", Home: "start", End: "end" };
