import { counted } from "./counted.ts";
import type { Counts, Failure, RunOutcome } from "./outcome.ts";
import { durationText } from "./progress.ts";

export interface Summary {
  readonly command: string;
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly requests: number;
  readonly durationMs: number;
  readonly error: Failure | null;
}

/** One line that says it all: `sync ok: 2 created, 390 unchanged; 2 requests in 405 ms`. */
export function summaryText({ command, outcome, counts, requests, durationMs, error }: Summary): string {
  const numbers = countsText(counts);
  const work = `${numbers === "" ? "" : `${numbers}; `}${counted(requests, "request")} in ${durationText(durationMs)}`;
  return error ? `${command} ${outcome}: ${error.message} (${work})` : `${command} ${outcome}: ${work}`;
}

/** `2 created, 390 unchanged`: those that are not zero. */
export const countsText = (counts: Readonly<Counts>): string =>
  Object.entries(counts)
    .flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []))
    .join(", ");
