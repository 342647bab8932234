import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  MIGRATION,
  NoAnswer,
  SHORT_READ,
  WRITE,
  withinLimits,
} from "../../../../src/adapters/sql/connection/wait-limits.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["a short read", SHORT_READ, 2_000, expect.objectContaining({ code: "INTERRUPTED" })],
  ["a write", WRITE, 10_000, expect.any(NoAnswer)],
  ["a migration", MIGRATION, 10_000, expect.any(NoAnswer)],
])("%s has a little more time once the program is told to stop", async (_, limits, ms, error) => {
  const stop = new AbortController();
  let ended: unknown = "waits";
  const never = new Promise<never>(() => {});
  void withinLimits(stop.signal, never, limits).catch((thrown) => {
    ended = thrown;
  });
  await vi.advanceTimersByTimeAsync(30_000);
  stop.abort();
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(ended).toBe("waits");
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(error);
});
