import type { RetryableFailure } from "../failure/group-failures.ts";

/** The `rotation` section of the config: which tokens a sync replaces by new ones, and when. */
export interface RotationPolicy {
  /** A token older than this is due; null: no token is due because of its age. */
  readonly maxAgeMs: number | null;
  /** Rotations start only within this time of the day; null: at any time. */
  readonly window: DailyWindow | null;
  /** The most rotations of one sync; null: no limit. */
  readonly maxPerRun: number | null;
  /** The most tokens at a time that are new in the service and not stored yet. */
  readonly concurrency: number;
}

/** A group whose token can be replaced by a new one. */
export interface RotationCandidate {
  readonly user_group_id: string;
  /** When the ledger first saw its token as the live one. */
  readonly tokenSince: Date;
  /** Why its token isn't stored, or its last rotation failed; null if neither. */
  readonly failure: RetryableFailure | null;
}

/** Whether a rotation may start at this time of the day. */
export const mayStart = ({ window }: RotationPolicy, now: Date): boolean =>
  window === null || isWithin(window, now);

/** A token is due if it has been live since this time or longer; null if no token is due because of its age. */
export const dueBefore = ({ maxAgeMs }: RotationPolicy, now: Date): Date | null =>
  maxAgeMs === null ? null : new Date(now.getTime() - maxAgeMs);

/** A time of every day, in minutes since midnight on the wall clock of a time zone. It may span midnight. */
interface DailyWindow {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** A name of the IANA database, such as `Europe/Berlin`. */
  readonly timeZone: string;
}

const CLOCK_TIME = /^([01]\d|2[0-3]):([0-5]\d)$/;

/** Reads `02:00-05:00` or `22:30-04:00`; undefined for anything else. */
export function parseDailyWindow(text: string): Omit<DailyWindow, "timeZone"> | undefined {
  const times = text.split("-").map((time) => minutesOf(time.trim()));
  const [from, to] = times;
  if (times.length !== 2 || from === undefined || to === undefined || from === to) return undefined;
  return { from, to };
}

function minutesOf(time: string): number | undefined {
  const [, hours, minutes] = CLOCK_TIME.exec(time) ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

export function isWithin({ from, to, timeZone }: DailyWindow, now: Date): boolean {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone,
    hour: "numeric",
    minute: "numeric",
    hourCycle: "h23",
  }).formatToParts(now);
  const part = (type: "hour" | "minute"): number =>
    Number(parts.find((candidate) => candidate.type === type)?.value);
  const minute = part("hour") * 60 + part("minute");
  return from < to ? from <= minute && minute < to : from <= minute || minute < to;
}
