import type { Failure } from "../failure/failure.ts";
import { durationText } from "../text/duration.ts";
import { quantities, quantity } from "../text/quantity.ts";
import type { Counts, RunOutcome } from "./counts.ts";

export interface Summary {
  readonly command: string;
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly requests: number;
  readonly durationMs: number;
  readonly error: Failure | null;
}

/** A run in one line: `sync ok: 2 created, 390 unchanged; 2 requests in 405 ms`. */
export function summaryText({ command, outcome, counts, requests, durationMs, error }: Summary): string {
  const numbers = countsText(counts);
  const work = `${numbers === "" ? "" : `${numbers}; `}${quantity(requests, "request")} in ${durationText(durationMs)}`;
  return error ? `${command} ${outcome}: ${error.message} (${work})` : `${command} ${outcome}: ${work}`;
}

/** `2 created, 390 unchanged, 1 token drift`: the counts that are not zero. */
export const countsText = ({ drift, ...counts }: Readonly<Counts>): string =>
  [
    ...Object.entries(counts),
    ...Object.entries(drift).map(([kind, count]) => [`${kind} drift`, count] as const),
  ]
    .flatMap(([name, count]) => (count > 0 ? [`${count} ${name.replace("_", " ")}`] : []))
    .join(", ");

/** What is not in sync: `2 rejected rows and 1 failing group`; empty if everything is. */
export const outOfSyncText = ({
  rejected,
  failed,
  outdated,
}: Pick<Counts, "rejected" | "failed" | "outdated">): string =>
  quantities([
    [rejected, "rejected row"],
    [failed, "failing group"],
    [outdated, "outdated group"],
  ]);
