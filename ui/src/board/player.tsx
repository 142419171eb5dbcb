/**
 * The board player: the model's plan and an optimal one on one clock. Space plays and stops, the arrows step, Home and End jump; the first
 * broken rule is marked on the time line, in words, and on the board at its step, its cells and its agents.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { BoardFacts, RolloutDetail, Track } from "../../../src/ui/records.js";
import { BoardPicture } from "./board.js";

const SPEEDS = [0.5, 1, 2, 4];
/** Steps a second at speed 1. */
const PACE = 1.6;

export function Player({ rollout, board }: { rollout: RolloutDetail; board: BoardFacts }) {
  const { model, optimum } = rollout;
  const last = Math.max(lengthOf(model), lengthOf(optimum));
  const first = model?.broken[0];
  const [step, setStep] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const root = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!playing) return;
    if (step >= last) {
      setPlaying(false);
      return;
    }
    // A broken rule is worth a longer look.
    const wait = (1000 / PACE / speed) * (first?.step === step && step > 0 ? 2.5 : 1);
    const timer = setTimeout(() => setStep((s) => Math.min(last, s + 1)), wait);
    return () => clearTimeout(timer);
  }, [playing, step, speed, last]);
  const go = (to: number): void => {
    setPlaying(false);
    setStep(Math.max(0, Math.min(last, to)));
  };
  const toggle = (): void => {
    if (!playing && step >= last) setStep(0);
    setPlaying(!playing);
  };
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const target = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName)) return;
      const onButton = target.tagName === "BUTTON" || target.tagName === "A" || target.tagName === "SUMMARY";
      if ((e.key === " " && !onButton) || e.key === "k") toggle();
      else if (e.key === "ArrowRight") go(step + 1);
      else if (e.key === "ArrowLeft") go(step - 1);
      else if (e.key === "Home") go(0);
      else if (e.key === "End") go(last);
      else return;
      e.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  });
  const broken = model?.broken.filter((b) => b.step === step) ?? [];
  const picture = (plan: string, format: string): string =>
    `./api/runs/${encodeURIComponent(rollout.run)}/picture?${new URLSearchParams({ set: rollout.set, stage: String(rollout.stage), id: rollout.id, plan, format })}`;
  return (
    <section ref={root} class="panel player" aria-label="Board player">
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
        <button type="button" onClick={() => go(0)} aria-label="To the start" title="Home">
          |◂
        </button>
        <button type="button" onClick={() => go(step - 1)} disabled={step === 0} aria-label="One step back" title="←">
          ◂
        </button>
        <button type="button" class="play" onClick={toggle} aria-label={playing ? "Pause" : "Play"} title="space">
          {playing ? "❚❚" : "▶"}
        </button>
        <button type="button" onClick={() => go(step + 1)} disabled={step === last} aria-label="One step on" title="→">
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
            onInput={(e) => go(Number(e.currentTarget.value))}
          />
          {[...new Set(model?.broken.map((b) => b.step) ?? [])].map((s) => (
            <span key={s} class="break-mark" style={{ "--at": s / Math.max(1, last) }} aria-hidden="true" />
          ))}
        </div>
        {first === undefined ? null : (
          <button type="button" class="to-break" onClick={() => go(first.step)}>
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
