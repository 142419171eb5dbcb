/**
 * The one event stream of a run. Terminal, log file and dashboard read this and nothing else. Events carry wall time and are therefore
 * outside of the promise of equal bytes; everything that must repeat is in the stage folders and metrics.jsonl.
 */
import { z } from "zod";
import { cellReportSchema } from "./records.js";

/** The steps of a stage, in order; also the words of the terminal, the docs and the dashboard. */
export const PHASES = ["generate", "train", "evaluate", "diagnose", "propose"] as const;
export const phaseSchema = z.enum(PHASES);
export type Phase = z.infer<typeof phaseSchema>;

const at = { time: z.iso.datetime() };

export const eventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("run-started"),
    ...at,
    name: z.string(),
    stages: z.int(),
    steps_per_stage: z.int(),
    engineer: z.string(),
    variant: z.string(),
    /** What the family calls its strata. */
    stratum: z.string().optional(),
    resumed: z.boolean(),
    pid: z.int(),
  }),
  z.object({ type: z.literal("phase-started"), ...at, stage: z.int(), phase: phaseSchema }),
  z.object({ type: z.literal("progress"), ...at, stage: z.int(), phase: phaseSchema, done: z.number(), total: z.number() }),
  z.object({
    type: z.literal("step"),
    ...at,
    stage: z.int(),
    step: z.int(),
    metrics: z.record(z.string(), z.number()),
    seconds: z.number(),
  }),
  z.object({ type: z.literal("phase-finished"), ...at, stage: z.int(), phase: phaseSchema, seconds: z.number() }),
  z.object({
    type: z.literal("validation"),
    ...at,
    /** 0 is the base checkpoint; stage i's checkpoint is validated as i + 1. */
    checkpoint: z.int(),
    total: cellReportSchema,
    by_stratum: z.record(z.string(), cellReportSchema),
  }),
  /** Instances, training and validation of the stage were copied from a run that had made the same ones. */
  z.object({ type: z.literal("stage-reused"), ...at, stage: z.int(), from: z.string() }),
  z.object({
    type: z.literal("proposal"),
    ...at,
    stage: z.int(),
    engineer: z.string(),
    variant: z.string(),
    outcome: z.string(),
    reasons: z.array(z.string()),
    config: z.unknown(),
  }),
  /** A person is asked: the run goes on once the file at `path` says that it is approved. */
  z.object({ type: z.literal("human-waiting"), ...at, stage: z.int(), path: z.string(), refusal: z.string().optional() }),
  z.object({ type: z.literal("human-answered"), ...at, stage: z.int(), seconds: z.number() }),
  /** The server that answers for a checkpoint (numbered as in `validation`) in evaluations and proposals. */
  z.object({
    type: z.literal("serving"),
    ...at,
    stage: z.int(),
    checkpoint: z.int(),
    state: z.enum(["starting", "ready", "stopped"]),
    /** Of a server that is ready: since it was started, or was given other weights. */
    seconds: z.number().optional(),
  }),
  /** A line that a trainer outside of this process wrote. */
  z.object({ type: z.literal("log"), ...at, stage: z.int(), source: z.string(), line: z.string() }),
  z.object({ type: z.literal("warning"), ...at, stage: z.int().optional(), message: z.string() }),
  z.object({ type: z.literal("run-finished"), ...at, seconds: z.number() }),
  z.object({ type: z.literal("run-failed"), ...at, message: z.string(), boundary: z.string() }),
  z.object({ type: z.literal("run-interrupted"), ...at, resume: z.string() }),
]);
export type RunEvent = z.infer<typeof eventSchema>;

type Untimed<E> = E extends { time: string } ? Omit<E, "time"> : never;
/** An event before the stream stamps it. */
export type NewEvent = Untimed<RunEvent>;

export type EventListener = (event: RunEvent) => void;

/** Stamps events with the clock given and hands them to every listener in order. */
export class EventStream {
  private readonly listeners = new Set<EventListener>();
  constructor(private readonly now: () => Date) {}

  subscribe(listener: EventListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  emit(event: NewEvent): void {
    const stamped = { ...event, time: this.now().toISOString() } as RunEvent;
    for (const listener of this.listeners) listener(stamped);
  }
}
