import { expect, it } from "vitest";
import { hostClock } from "../../../src/adapters/host/clock.ts";

it("lets any number of sleepers wait on one signal, wakes them together, and warns of nothing", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  try {
    const stopping = new AbortController();
    const sleepers = Array.from({ length: 50 }, () => hostClock.sleep(3_600_000, stopping.signal));
    stopping.abort();
    await Promise.all(sleepers);
    // Warnings come a tick later.
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", note);
  }
});
