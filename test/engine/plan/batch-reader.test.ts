import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BatchReader, readAhead } from "../../../src/engine/plan/merge-by-id.ts";

async function* from<T>(items: readonly T[], onRead: (item: T) => void = () => {}): AsyncGenerator<T> {
  for (const item of items) {
    onRead(item);
    yield item;
  }
}

describe("a batch reader", () => {
  it("gives every item once and in order, and waits only between batches", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.integer(), { maxLength: 4 })), async (batches) => {
        const reader = new BatchReader(from(batches));
        const items: number[] = [];
        let waits = 0;
        for (;;) {
          if (reader.current === undefined && !reader.ended) {
            await reader.fill();
            waits++;
          }
          if (reader.current === undefined) break;
          items.push(reader.current);
          reader.advance();
        }
        expect(items).toEqual(batches.flat());
        expect(reader.ended).toBe(true);
        expect(waits).toBe(batches.filter((batch) => batch.length > 0).length + 1);
      }),
    );
  });
});

describe("reading ahead", () => {
  it("fetches one batch while the consumer works on the one before", async () => {
    const read: number[] = [];
    const seen: [number, number][] = [];
    for await (const item of readAhead(from([1, 2, 3, 4], (item) => read.push(item)))) {
      await Promise.resolve();
      seen.push([item, read.length]);
    }
    expect(seen).toEqual([
      [1, 2],
      [2, 3],
      [3, 4],
      [4, 4],
    ]);
  });

  it("passes an error on after the batches that came before it", async () => {
    async function* failing(): AsyncGenerator<number> {
      yield 1;
      throw new Error("cut");
    }
    const seen: number[] = [];
    const reading = async (): Promise<void> => {
      for await (const item of readAhead(failing())) seen.push(item);
    };
    await expect(reading()).rejects.toThrow("cut");
    expect(seen).toEqual([1]);
  });

  it("drops the error of a batch that nobody asks for, and lets the producer clean up", async () => {
    let cleanedUp = false;
    async function* failing(): AsyncGenerator<number> {
      try {
        yield 1;
        throw new Error("cut");
      } finally {
        cleanedUp = true;
      }
    }
    for await (const _ of readAhead(failing())) break;
    expect(cleanedUp).toBe(true);
  });
});
