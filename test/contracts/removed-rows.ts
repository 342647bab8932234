import { expect, test } from "vitest";
import type { TenantSource } from "../../src/ports/tenant-source.ts";
import { bucketsOf } from "../fakes/tenant-source.ts";
import { readAll } from "./rows-of.ts";

export interface StatedRow {
  readonly id: string | null;
  readonly state: "gone" | "here" | null;
}

/** What every source does, the fake included, whose condition for removed rows is that their state is `gone`. */
export function removedRowsContract(sourceOf: (rows: readonly StatedRow[]) => Promise<TenantSource>): void {
  const read = async (rows: readonly StatedRow[]) => readAll(await sourceOf(rows), ["id"]);

  test("where the condition is true of it, neither false nor null, and gives it in its place", async () => {
    const { rows } = await read([
      { id: "c", state: "here" },
      { id: "b", state: "gone" },
      { id: null, state: "gone" },
      { id: "a", state: null },
      { id: "b", state: "here" },
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

  test("and leaves it out of the buckets", async () => {
    const { buckets, rows } = await read([
      { id: "a", state: "here" },
      { id: "b", state: "gone" },
      { id: "b", state: null },
      { id: "c", state: "gone" },
      { id: null, state: "gone" },
    ]);
    const active = rows.filter((row) => !row.removed);
    expect(active).toHaveLength(2);
    const inOrder = (sums: ReturnType<typeof bucketsOf>) => sums.toSorted((a, b) => a.bucket - b.bucket);
    expect(inOrder([...buckets])).toEqual(inOrder(bucketsOf(active)));
  });

  test("with the digest that it has otherwise", async () => {
    const digestIn = async (state: StatedRow["state"]) => (await read([{ id: "a", state }])).rows[0]?.digest;
    expect(await digestIn("gone")).toEqual(await digestIn("here"));
  });
}
