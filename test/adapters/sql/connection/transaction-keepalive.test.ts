import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TransactionKeepalive } from "../../../../src/adapters/sql/connection/transaction-keepalive.ts";

const IDLE_MS = 30_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** After its first statement has been answered. */
async function aKeepalive(ping: () => Promise<unknown>): Promise<TransactionKeepalive> {
  const transaction = new TransactionKeepalive(ping, IDLE_MS);
  await transaction.run(async () => {});
  return transaction;
}

test("pings reach the server often, however long the transaction waits for something else", async () => {
  const ping = vi.fn(async () => {});
  const transaction = await aKeepalive(ping);
  await vi.advanceTimersByTimeAsync(10 * IDLE_MS);
  expect(ping.mock.calls.length).toBeGreaterThanOrEqual(30);
  expect(() => transaction.assertOpen()).not.toThrow();
  await transaction.end();
  ping.mockClear();
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  expect(ping).not.toHaveBeenCalled();
});

test("a statement waits for a running ping, and no ping is sent during a statement", async () => {
  const order: string[] = [];
  const taking = (name: string, ms: number) => async () => {
    order.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, ms));
    order.push(`${name} ends`);
  };
  const transaction = new TransactionKeepalive(taking("ping", 100), IDLE_MS);
  await vi.advanceTimersByTimeAsync(5_000);
  const asked = transaction.run(taking("statement", 12_000));
  await vi.advanceTimersByTimeAsync(12_100);
  await asked;
  await transaction.end();
  expect(order).toEqual(["ping begins", "ping ends", "statement begins", "statement ends"]);
});

test("the next statement fails with the error of a failed ping", async () => {
  const transaction = await aKeepalive(async () => {
    throw new Error("the connection is gone");
  });
  await vi.advanceTimersByTimeAsync(5_000);
  await expect(transaction.run(async () => {})).rejects.toThrow("the connection is gone");
  await transaction.end();
});

test.each<[why: string, standStill: () => unknown]>([
  ["the process stood still", () => vi.advanceTimersByTimeAsync(IDLE_MS / 2 + 1)],
  ["its machine slept, and the monotonic clock with it", () => vi.setSystemTime(Date.now() + IDLE_MS)],
])("assertOpen throws after %s", async (_, standStill) => {
  // The ping gets no answer, as in a process that stands still.
  let answer = (): void => {};
  const transaction = await aKeepalive(() => new Promise<void>((resolve) => (answer = resolve)));
  await standStill();
  expect(() => transaction.assertOpen()).toThrow(expect.objectContaining({ code: "PAUSED" }));
  answer();
});
