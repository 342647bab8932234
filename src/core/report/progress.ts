import { quantity } from "../text/quantity.ts";

/** What calls to the service wait for, in one line. */
export const queuedText = ({ calls, reason }: { readonly calls: number; readonly reason: string }): string =>
  `${quantity(calls, "call")} ${calls === 1 ? "waits" : "wait"} for the service: ${reason}`;

/** How much of a run's work is done; `done` is never more than `total`. */
interface Work {
  readonly done: number;
  readonly total: number;
}

export const NO_WORK: Work = { done: 0, total: 0 };

/** The events of a run that change how much it has to do, or has done. */
export type WorkEvent =
  | { readonly kind: "started" }
  | { readonly kind: "planned"; readonly changes: number }
  | { readonly kind: "restoring" | "rotating"; readonly tokens: number }
  | { readonly kind: "refreshing"; readonly groups: number }
  | { readonly kind: "recorded" | "refreshed" | "deleted" | "restored" | "rotated" | "failed" };

const WORK_EVENTS: Readonly<Record<WorkEvent["kind"], true>> = {
  started: true,
  planned: true,
  restoring: true,
  rotating: true,
  refreshing: true,
  recorded: true,
  refreshed: true,
  deleted: true,
  restored: true,
  rotated: true,
  failed: true,
};

export const isWork = <E extends { readonly kind: string }>(event: E): event is Extract<E, WorkEvent> =>
  event.kind in WORK_EVENTS;

export function advanced({ done, total }: Work, event: WorkEvent): Work {
  switch (event.kind) {
    case "started":
      return NO_WORK;
    case "planned":
      return { done, total: total + event.changes };
    case "restoring":
    case "rotating":
      return { done, total: total + event.tokens };
    case "refreshing":
      return { done, total: total + event.groups };
    case "recorded":
    case "refreshed":
    case "deleted":
    case "restored":
    case "rotated":
    case "failed":
      return { done: done + 1, total: Math.max(total, done + 1) };
    default:
      return event satisfies never;
  }
}

interface Progress {
  readonly done: number;
  readonly total: number;
  /** Items per second since the start; 0 at the start. */
  readonly rate: number;
  /** Milliseconds until the end at that rate; undefined as long as the rate is 0. */
  readonly leftMs: number | undefined;
}

export function progress(done: number, total: number, elapsedMs: number): Progress {
  const rate = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const leftMs = rate > 0 ? ((total - done) * 1000) / rate : undefined;
  return { done, total, rate, leftMs };
}
