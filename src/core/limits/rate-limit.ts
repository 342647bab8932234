/** At most `count` requests in `perMs` milliseconds. */
export interface RateLimit {
  readonly count: number;
  readonly perMs: number;
}

const PERIODS: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 };

/** `5/s`, `170/min` or `9000/h`; undefined for anything else. */
export const parseRateLimit = (text: string): RateLimit | undefined =>
  /^\d+\/[a-z]+$/.test(text) ? parseWindow(text) : undefined;

/** The same forms, and windows of any length, such as `180/10s`; undefined for anything else. */
export function parseWindow(text: string): RateLimit | undefined {
  const [, count, periods = "", period = ""] = /^(\d+)\/(\d*)(s|min|h)$/.exec(text) ?? [];
  const perMs = (periods === "" ? 1 : Number(periods)) * (PERIODS[period] ?? 0);
  return perMs > 0 && Number(count) > 0 ? { count: Number(count), perMs } : undefined;
}
