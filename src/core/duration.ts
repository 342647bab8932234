const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `15s`, `5m`, `24h`, `90d` or a bare `0` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const [, count, unit = ""] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  const milliseconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}
