/** A ceiling: `count` requests in `perMs` milliseconds. */
export interface RateLimit {
  readonly count: number;
  readonly perMs: number;
}

const PERIODS: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 };

/** `5/s`, `170/min` or `9000/h`; undefined for anything else. */
export function parseRateLimit(text: string): RateLimit | undefined {
  const [, count, period = ""] = /^(\d+)\/(s|min|h)$/.exec(text) ?? [];
  const perMs = PERIODS[period];
  return perMs !== undefined && Number(count) > 0 ? { count: Number(count), perMs } : undefined;
}
