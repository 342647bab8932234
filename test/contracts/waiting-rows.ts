import { expect, test } from "vitest";
import type { TenantSource } from "../../src/ports/tenant-source.ts";
import { bucketsOf } from "../fakes/tenant-source.ts";
import { readAll } from "./rows-of.ts";

export interface WaitingRow {
  readonly id: string | null;
  readonly state: "ready" | "new" | null;
}

/** What every source does, the fake included, whose condition for rows that are ready is that their state is `ready`. */
export function waitingRowsContract(sourceOf: (rows: readonly WaitingRow[]) => Promise<TenantSource>): void {
  const read = async (rows: readonly WaitingRow[]) => readAll(await sourceOf(rows), ["id"]);

  test("unless the condition is true of it, and gives it in its place", async () => {
    const { rows } = await read([
      { id: "c", state: "ready" },
      { id: "b", state: "new" },
      { id: null, state: "new" },
      { id: "a", state: null },
    ]);
    const shown = rows.map(({ cells, notReady }) => [...cells, notReady]);
    expect(shown.filter(([id]) => id === null)).toEqual([[null, true]]);
    expect(shown.filter(([id]) => id !== null)).toEqual([
      ["a", true],
      ["b", true],
      ["c", false],
    ]);
  });

  test("and counts it beside the sum of its bucket", async () => {
    const { buckets, rows } = await read([
      { id: "a", state: "ready" },
      { id: "b", state: "new" },
      { id: "b", state: "ready" },
      { id: "c", state: null },
      { id: null, state: "new" },
      { id: null, state: "ready" },
    ]);
    const inOrder = (sums: ReturnType<typeof bucketsOf>) => sums.toSorted((a, b) => a.bucket - b.bucket);
    expect(inOrder([...buckets])).toEqual(inOrder(bucketsOf(rows)));
    expect(buckets.reduce((sum, { notReady }) => sum + notReady, 0)).toBe(3);
    expect(buckets.reduce((sum, bucket) => sum + bucket.rows, 0)).toBe(3);
  });

  test("with the digest that it has once it is ready, so that the sums tell which rows are", async () => {
    const whole = async (state: WaitingRow["state"]) => await read([{ id: "a", state }]);
    const [waiting, ready] = [await whole("new"), await whole("ready")];
    expect(waiting.rows[0]?.digest).toEqual(ready.rows[0]?.digest);
    expect(waiting.buckets).not.toEqual(ready.buckets);
  });
}
