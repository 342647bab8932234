import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Tenant, TenantRow } from "../../../src/core/group/tenant.ts";
import { readTenants } from "../../../src/engine/plan/read-tenants.ts";
import { anyId } from "../../builders/arbitraries.ts";
import { someRules } from "../../builders/rules.ts";
import { aTenantRow } from "../../fakes/tenant-source.ts";

type Cells = TenantRow["cells"];

const read = (cells: readonly Cells[], sizes?: readonly number[]): Promise<Tenant[]> =>
  readRows(
    cells.map((row) => aTenantRow(row)),
    sizes,
  );

async function readRows(rows: readonly TenantRow[], sizes: readonly number[] = [2]): Promise<Tenant[]> {
  async function* batches(): AsyncGenerator<readonly TenantRow[]> {
    for (let n = 0, start = 0; start < rows.length; n++) {
      const size = sizes[n % sizes.length] ?? 1;
      yield rows.slice(start, start + size);
      start += size;
    }
  }
  const tenants: Tenant[] = [];
  for await (const batch of readTenants(batches(), someRules())) tenants.push(...batch);
  return tenants;
}

const anySizes = fc
  .array(fc.nat(3), { minLength: 1, maxLength: 4 })
  .filter((sizes) => sizes.some((size) => size > 0));

describe("rows of the source", () => {
  it("become one tenant each; rows with the same id become one rejection with their number", async () => {
    const anyRows = fc.uniqueArray(fc.record({ id: anyId(), copies: fc.integer({ min: 1, max: 4 }) }), {
      selector: ({ id }) => id,
      maxLength: 8,
    });
    const anyNulls = fc.array(fc.nat(20), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(anyRows, anyNulls, anySizes, async (some, nulls, sizes) => {
        const inOrder = some.sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
        const rows = inOrder.flatMap(({ id, copies }) =>
          Array.from({ length: copies }, (): Cells => [id, "x"]),
        );
        for (const place of nulls) rows.splice(place, 0, [null, "x"]);

        const tenants = await read(rows, sizes);
        expect(tenants.filter((tenant) => tenant.user_group_id === null)).toMatchObject(
          nulls.map(() => ({ kind: "rejected", code: "ID_NULL" })),
        );
        expect(tenants.filter((tenant) => tenant.user_group_id !== null)).toMatchObject(
          inOrder.map(({ id, copies }) =>
            copies === 1
              ? { kind: "desired", user_group_id: id }
              : {
                  kind: "rejected",
                  user_group_id: id,
                  code: "ID_DUPLICATE",
                  message: expect.stringContaining(`${copies} rows`),
                },
          ),
        );
      }),
    );
  });

  it("are an error if they are not ordered by the bytes of the id", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anyId(), { minLength: 2, maxLength: 8 }),
        anySizes,
        async (ids, sizes) => {
          const inOrder = ids.every(
            (id, n) => n === 0 || Buffer.compare(Buffer.from(ids[n - 1] ?? ""), Buffer.from(id)) < 0,
          );
          const reading = read(
            ids.map((id) => [id, "x"]),
            sizes,
          );
          if (inOrder) expect(await reading).toHaveLength(ids.length);
          else await expect(reading).rejects.toMatchObject({ code: "SOURCE_ORDER" });
        },
      ),
    );
  });

  it("are an error if they are ordered by UTF-16 code units", async () => {
    await expect(
      read([
        ["\u{10000}", "x"],
        ["\uffff", "x"],
      ]),
    ).rejects.toMatchObject({
      code: "SOURCE_ORDER",
      message: expect.stringContaining("column id"),
    });
  });

  it("with an unusable id keep their place among the others", async () => {
    const tooLong = "b".repeat(513);
    const tenants = await read([
      ["a", "x"],
      [tooLong, "x"],
      [tooLong, "x"],
      ["c", "x"],
    ]);
    expect(tenants.map((tenant) => (tenant.kind === "rejected" ? tenant.code : tenant.kind))).toEqual([
      "desired",
      "ID_DUPLICATE",
      "desired",
    ]);
  });

  it("that are flagged are gone, unless another row has the same id", async () => {
    const row = (id: string, removed: boolean): TenantRow => aTenantRow([id, "x"], "seed", { removed });
    const tenants = await readRows([
      row("a", true),
      row("b", true),
      row("b", false),
      row("c", false),
      row("c", true),
      row("d", true),
      row("d", true),
      row("e", false),
    ]);
    const duplicate = { kind: "rejected", code: "ID_DUPLICATE" };
    expect(tenants).toMatchObject([
      { kind: "flagged", user_group_id: "a" },
      { ...duplicate, user_group_id: "b" },
      { ...duplicate, user_group_id: "c" },
      { ...duplicate, user_group_id: "d" },
      { kind: "desired", user_group_id: "e" },
    ]);
  });
});
