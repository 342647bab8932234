import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf } from "../../core/group/group-rules.ts";
import { mergeById } from "./merge-by-id.ts";
import type { PlanRead, ReadSource } from "./read-all.ts";
import { inOneBatch, readTenants } from "./read-tenants.ts";

/** Looks these ids up in the source and in the ledger. */
export async function readSome(
  only: ReadonlySet<string>,
  { source, ledger, rules, stop, tableBefore, builder, decide }: PlanRead,
): Promise<ReadSource> {
  const ids = [...only];
  const lookUps = await source.lookUps(columnsOf(rules), digestSeed(rules), stop, tableBefore);
  try {
    const [rows, groups] = await Promise.all([lookUps.rowsOf(ids), ledger.of(ids)]);
    const unknown = new Set(ids);
    await mergeById(readTenants(inOneBatch(rows), rules), inOneBatch(groups), (tenant, group) => {
      const id = tenant?.user_group_id ?? group?.user_group_id;
      // An empty id is none.
      if (id === undefined) return;
      unknown.delete(id);
      decide(tenant, group);
    });
    if (builder.removals > 0) {
      builder.seeTotals({
        owned: await ledger.existingCount({}),
        removalsUnderWay: await ledger.existingCount({ underWay: "a removal" }),
      });
    }
    return { table: lookUps.table, warnings: [], unknown };
  } finally {
    await lookUps.close();
  }
}
