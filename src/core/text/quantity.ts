/** `1 request`, `2 requests`. */
export const quantity = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `2 deletions and 1 replacement`, without those whose count is 0. */
export const quantities = (counts: readonly (readonly [count: number, noun: string])[]): string =>
  new Intl.ListFormat("en").format(
    counts.flatMap(([count, noun]) => (count > 0 ? [quantity(count, noun)] : [])),
  );

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `15s`, `5m`, `24h`, `90d` or a bare `0` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const [, count, unit = ""] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  const milliseconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}

/** `340 ms`, `1.2 s`, `12 s`, `4 min 10 s`, `2 h 5 min` */
export function durationText(ms: number): string {
  // Round before comparing: 999.6 ms must not be shown as "1000 ms".
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${ms < 9_950 ? (ms / 1000).toFixed(1) : seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `42/s`, or `170/min` for fewer than 10 a second. */
export const rateText = (perSecond: number): string =>
  perSecond >= 10 ? `${Math.round(perSecond)}/s` : `${Math.round(perSecond * 60)}/min`;
