import { parseDuration } from "../../core/text/quantity.ts";

/** How long a reply may be waited for, in milliseconds. */
const DEFAULT_WAIT = 10_000;
const LONGEST_WAIT = 60_000;

/** ASCII without blanks and control characters, and without the slash. */
const ONE_SEGMENT = /^[!-.0-~]+$/;

/** The id that one percent-encoded segment of a path stands for; undefined if the segment stands for none. */
export function idOf(segment: string): string | undefined {
  if (!ONE_SEGMENT.test(segment)) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    // A percent sign without two digits after it, or bytes that are not UTF-8.
    return undefined;
  }
}

/** What `wait` says in a query, in milliseconds; undefined if it is wrong. */
export function waitOf(query: string): number | undefined {
  const [wait, ...more] = new URLSearchParams(query).getAll("wait");
  if (wait === undefined) return DEFAULT_WAIT;
  const ms = parseDuration(wait);
  return ms !== undefined && ms <= LONGEST_WAIT && more.length === 0 ? ms : undefined;
}
