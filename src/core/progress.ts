/** How much of a run's work is done. Never more than there is. */
export interface Work {
  readonly done: number;
  readonly total: number;
}

export const NO_WORK: Work = { done: 0, total: 0 };

/** What a run says that changes how much it has to do, or has done. */
export type WorkEvent =
  | { readonly kind: "started" }
  | { readonly kind: "planned"; readonly changes: number }
  | { readonly kind: "restoring" | "rotating"; readonly tokens: number }
  | { readonly kind: "recorded" | "deleted" | "restored" | "rotated" | "failed" };

export function advanced({ done, total }: Work, event: WorkEvent): Work {
  switch (event.kind) {
    case "started":
      return NO_WORK;
    case "planned":
      return { done, total: total + event.changes };
    case "restoring":
    case "rotating":
      return { done, total: total + event.tokens };
    case "recorded":
    case "deleted":
    case "restored":
    case "rotated":
    case "failed":
      return { done: done + 1, total: Math.max(total, done + 1) };
    default:
      return event satisfies never;
  }
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** Items per second since the start; 0 until there is anything to go by. */
  readonly rate: number;
  /** Milliseconds until the end at that rate; undefined until there is anything to go by. */
  readonly leftMs: number | undefined;
}

export function progress(done: number, total: number, elapsedMs: number): Progress {
  const rate = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const leftMs = rate > 0 ? ((total - done) * 1000) / rate : undefined;
  return { done, total, rate, leftMs };
}

/** `340 ms`, `1.2 s`, `12 s`, `4 min 10 s`, `2 h 5 min` */
export function durationText(ms: number): string {
  // Compared as they are shown: 999.6 ms are not "1000 ms".
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${ms < 9_950 ? (ms / 1000).toFixed(1) : seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `42/s`, or `170/min` where that says more. */
export const rateText = (perSecond: number): string =>
  perSecond >= 10 ? `${Math.round(perSecond)}/s` : `${Math.round(perSecond * 60)}/min`;
