import { describe, expect, it } from "vitest";
import { RunRetries } from "../../../src/engine/service/run-retries.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";

function retriesOf(concurrency: number) {
  const events: RunEvent[] = [];
  const retries = new RunRetries(concurrency, (event) => events.push(event));
  const allowed = (): number => {
    let count = 0;
    while (retries.mayRetry()) count++;
    return count;
  };
  return { retries, events, allowed };
}

describe("a run may repeat", () => {
  it("the attempts of one call before the first answer, without a warning", () => {
    const { retries, events, allowed } = retriesOf(4);
    expect(allowed()).toBe(7);
    expect(retries.hasAnswered).toBe(false);
    expect(events).toEqual([]);
  });

  it.each([
    [4, 100],
    [50, 350],
  ])("every attempt of %i calls in flight after an answer, and at least a hundred", (concurrency, times) => {
    const { retries, events, allowed } = retriesOf(concurrency);
    retries.answered();
    expect(allowed()).toBe(times);
    expect(events).toMatchObject([{ kind: "warning", code: "RETRIES_EXHAUSTED" }]);
    allowed();
    expect(events).toHaveLength(1);
  });
});
