import { describe, expect, test } from "vitest";
import type { TenantSource } from "../../src/ports/tenant-source.ts";
import { bucketsOf } from "../fakes/tenant-source.ts";
import { readAll } from "./rows-of.ts";

/** A row, and what the source's conditions go by. */
export interface StatedRow {
  readonly id: string | null;
  readonly state: "gone" | "ready" | "new" | null;
}

/** The conditions in SQL. A fake that knows no SQL goes by the states. */
export type StateConditions =
  | { readonly removedWhen: "state = 'gone'" }
  | { readonly readyWhen: "state = 'ready'" };

/** What every source makes of rows that its conditions are about, the fake included. */
export function statedRowsContract(
  sourceOf: (rows: readonly StatedRow[], conditions: StateConditions) => Promise<TenantSource>,
): void {
  const inOrder = (sums: ReturnType<typeof bucketsOf>) => sums.toSorted((a, b) => a.bucket - b.bucket);

  describe("a removed row", () => {
    const read = async (rows: readonly StatedRow[]) =>
      readAll(await sourceOf(rows, { removedWhen: "state = 'gone'" }), ["id"]);

    test("is one of which the condition is true, neither false nor null, and comes in its place", async () => {
      const { rows } = await read([
        { id: "c", state: "new" },
        { id: "b", state: "gone" },
        { id: null, state: "gone" },
        { id: "a", state: null },
        { id: "b", state: "new" },
      ]);
      const shown = rows.map(({ cells, removed }) => [...cells, removed]);
      expect(shown.filter(([id]) => id === null)).toEqual([[null, true]]);
      expect(shown.filter(([id]) => id !== null)).toEqual([
        ["a", false],
        ["b", expect.any(Boolean)],
        ["b", expect.any(Boolean)],
        ["c", false],
      ]);
      expect(rows.filter(({ cells, removed }) => cells[0] === "b" && removed)).toHaveLength(1);
    });

    test("is in no bucket", async () => {
      const { buckets, rows } = await read([
        { id: "a", state: "new" },
        { id: "b", state: "gone" },
        { id: "b", state: null },
        { id: "c", state: "gone" },
        { id: null, state: "gone" },
      ]);
      const active = rows.filter((row) => !row.removed);
      expect(active).toHaveLength(2);
      expect(inOrder([...buckets])).toEqual(inOrder(bucketsOf(active)));
    });

    test("has the digest that it has otherwise", async () => {
      const digestIn = async (state: StatedRow["state"]) =>
        (await read([{ id: "a", state }])).rows[0]?.digest;
      expect(await digestIn("gone")).toEqual(await digestIn("new"));
    });
  });

  describe("a row that isn't ready", () => {
    const read = async (rows: readonly StatedRow[]) =>
      readAll(await sourceOf(rows, { readyWhen: "state = 'ready'" }), ["id"]);

    test("is one of which the condition is false or null, and comes in its place", async () => {
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

    test("is counted beside the sum of its bucket", async () => {
      const { buckets, rows } = await read([
        { id: "a", state: "ready" },
        { id: "b", state: "new" },
        { id: "b", state: "ready" },
        { id: "c", state: null },
        { id: null, state: "new" },
        { id: null, state: "ready" },
      ]);
      expect(inOrder([...buckets])).toEqual(inOrder(bucketsOf(rows)));
      expect(buckets.reduce((sum, { notReady }) => sum + notReady, 0)).toBe(3);
      expect(buckets.reduce((sum, bucket) => sum + bucket.rows, 0)).toBe(3);
    });

    test("has the digest that it has once it is ready, so that the sums tell which rows are", async () => {
      const whole = async (state: StatedRow["state"]) => await read([{ id: "a", state }]);
      const [waiting, ready] = [await whole("new"), await whole("ready")];
      expect(waiting.rows[0]?.digest).toEqual(ready.rows[0]?.digest);
      expect(waiting.buckets).not.toEqual(ready.buckets);
    });
  });
}
