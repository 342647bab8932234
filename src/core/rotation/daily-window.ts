/** A time of every day, in minutes since midnight on the wall clock of a time zone. It may span midnight. */
export interface DailyWindow {
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
