import { quantity } from "../text/quantity.ts";

/** How many calls wait for the service, and why. */
export interface Queued {
  readonly calls: number;
  readonly reason: string;
}

export const queuedText = ({ calls, reason }: Queued): string =>
  `${quantity(calls, "call")} ${calls === 1 ? "waits" : "wait"} for the service: ${reason}`;

/** How much of a run's work is done; `done` is never more than `total`. */
interface Work {
  readonly done: number;
  readonly total: number;
}

export const NO_WORK: Work = { done: 0, total: 0 };

/** Any event of a run. Those that announce work say how much. */
interface WorkEvent {
  readonly kind: string;
  /** Of `planned`. */
  readonly changes?: number;
  /** Of `restoring` and `rotating`. */
  readonly tokens?: number;
  /** Of `refreshing`. */
  readonly groups?: number;
}

/** The work after this event. The same object if the event is not about work. */
export function advanced(work: Work, { kind, changes = 0, tokens = 0, groups = 0 }: WorkEvent): Work {
  const { done, total } = work;
  switch (kind) {
    case "started":
      return NO_WORK;
    case "planned":
      return { done, total: total + changes };
    case "restoring":
    case "rotating":
      return { done, total: total + tokens };
    case "refreshing":
      return { done, total: total + groups };
    case "recorded":
    case "refreshed":
    case "deleted":
    case "restored":
    case "rotated":
    case "failed":
      // Nobody has announced some of the work.
      return { done: done + 1, total: Math.max(total, done + 1) };
    default:
      return work;
  }
}

interface Progress {
  /** Items per second since the start; 0 at the start. */
  readonly rate: number;
  /** Milliseconds until the end at that rate; undefined as long as the rate is 0. */
  readonly leftMs: number | undefined;
}

export function progress({ done, total }: Work, elapsedMs: number): Progress {
  const rate = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const leftMs = rate > 0 ? ((total - done) * 1000) / rate : undefined;
  return { rate, leftMs };
}
