import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OpenTransaction } from "../../src/adapters/sql/open-transaction.ts";

const IDLE_MS = 30_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** As it is when its first statement has been answered. */
async function anOpenTransaction(beat: () => Promise<unknown>): Promise<OpenTransaction> {
  const transaction = new OpenTransaction(beat, IDLE_MS);
  await transaction.ask(async () => {});
  return transaction;
}

test("the server hears of a transaction often, however long it waits for something else", async () => {
  const beat = vi.fn(async () => {});
  const transaction = await anOpenTransaction(beat);
  await vi.advanceTimersByTimeAsync(10 * IDLE_MS);
  expect(beat.mock.calls.length).toBeGreaterThanOrEqual(30);
  expect(() => transaction.assertOpen()).not.toThrow();
  await transaction.over();
  beat.mockClear();
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  expect(beat).not.toHaveBeenCalled();
});

test("a statement waits for a beat under way, and no beat is sent beside a statement", async () => {
  const order: string[] = [];
  const taking = (name: string, ms: number) => async () => {
    order.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, ms));
    order.push(`${name} ends`);
  };
  const transaction = new OpenTransaction(taking("beat", 100), IDLE_MS);
  await vi.advanceTimersByTimeAsync(5_000);
  const asked = transaction.ask(taking("statement", 12_000));
  await vi.advanceTimersByTimeAsync(12_100);
  await asked;
  await transaction.over();
  expect(order).toEqual(["beat begins", "beat ends", "statement begins", "statement ends"]);
});

test("a beat that fails is what the next statement fails with", async () => {
  const transaction = await anOpenTransaction(async () => {
    throw new Error("the connection is gone");
  });
  await vi.advanceTimersByTimeAsync(5_000);
  await expect(transaction.ask(async () => {})).rejects.toThrow("the connection is gone");
  await transaction.over();
});

test.each<[why: string, standStill: () => unknown]>([
  ["the process stood still", () => vi.advanceTimersByTimeAsync(IDLE_MS / 2 + 1)],
  ["its machine slept, and the monotonic clock with it", () => vi.setSystemTime(Date.now() + IDLE_MS)],
])("nothing is to be changed elsewhere once %s", async (_, standStill) => {
  // No beat is answered: whoever stands still sends none.
  let answer = (): void => {};
  const transaction = await anOpenTransaction(() => new Promise<void>((resolve) => (answer = resolve)));
  await standStill();
  expect(() => transaction.assertOpen()).toThrow(expect.objectContaining({ code: "PAUSED" }));
  answer();
});
