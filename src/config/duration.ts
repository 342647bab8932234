import type { RateLimit } from "./config.ts";

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const PERIODS = { s: UNITS.s, min: UNITS.m, h: UNITS.h };

/** `500ms`, `15s`, `5m`, `24h` or `90d` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (count === undefined || !isKeyOf(UNITS, unit)) return undefined;
  const milliseconds = Number(count) * UNITS[unit];
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}

/** `5/s`, `170/min` or `9000/h`; undefined for anything else. */
export function parseRateLimit(text: string): RateLimit | undefined {
  const [, count, period] = /^(\d+)\/(s|min|h)$/.exec(text) ?? [];
  if (count === undefined || !isKeyOf(PERIODS, period)) return undefined;
  return Number(count) > 0 ? { count: Number(count), perMs: PERIODS[period] } : undefined;
}

const isKeyOf = <T extends object>(table: T, key: PropertyKey | undefined): key is keyof T =>
  key !== undefined && Object.hasOwn(table, key);
