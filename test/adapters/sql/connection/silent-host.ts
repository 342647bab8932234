import { onTestFinished, vi } from "vitest";

/** How this ends within a minute and a half, on a line whose host has gone. */
export async function endWithSilentHost(
  line: { swallow(on: boolean): void },
  work: () => Promise<unknown>,
): Promise<unknown> {
  line.swallow(true);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let ended: unknown;
  void work().catch((error: unknown) => {
    ended = error;
  });
  await vi.advanceTimersByTimeAsync(90_000);
  return ended;
}
