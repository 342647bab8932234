import { clockDiffers } from "../failure/failure.ts";
import { durationText } from "../text/duration.ts";

/** The database's time, and when this host asked for it. */
export interface AskedTime {
  /** The host's clock, right before it asked. */
  readonly asked: Date;
  /** How long the answer took, by a clock that nobody sets. In milliseconds. */
  readonly tookMs: number;
  /** The database's clock, at some moment until the answer came. */
  readonly answer: Date;
}

/** Clocks that differ by no more than this agree, in milliseconds. */
const TOLERANCE_MS = 5 * 60_000;

/** How far the host's clock is ahead of the database's, in milliseconds: less than 0 if it is behind. Null if they agree. */
export function clockLead({ asked, tookMs, answer }: AskedTime): number | null {
  const mostAhead = asked.getTime() + tookMs - answer.getTime();
  const leastAhead = asked.getTime() - answer.getTime();
  if (leastAhead > TOLERANCE_MS) return leastAhead;
  return mostAhead < -TOLERANCE_MS ? mostAhead : null;
}

/** Grace periods and the limit go by the host's clock, and nobody knows which of the two clocks is right. */
export const clockDifference = (leadMs: number) => ({
  ...clockDiffers(
    `the clock of this host is ${durationText(Math.abs(leadMs))} ${leadMs > 0 ? "ahead of" : "behind"} the clock of the ledger's database: until they agree, no group is deleted or replaced, whatever was approved`,
  ),
  hint: "set the clock that is wrong, best by NTP: once they are less than five minutes apart, deletions go on, and no grace period has counted the time in between",
});
