import type { MissingGroups } from "../../../core/deletion/missing-tenants.ts";
import type { GroupCounts, GroupReads, GroupSums } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import type { LedgerScope } from "./scope.ts";

/** The sums of an empty ledger. */
export const NO_SUMS: GroupSums = {
  counts: {
    total: 0,
    in_sync: 0,
    under_way: 0,
    failing: 0,
    in_doubt: 0,
    wanted: 0,
    missing: 0,
    unverified: 0,
  },
  missing: [],
  oldestToken: null,
  oldestUnsynced: null,
};

const IS_UNDER_WAY = "(owes LIKE '%under way%' OR owes LIKE '%leftover%')";

export const groupSums = (reader: LedgerReader): Pick<GroupReads, "sums"> => ({
  sums: () =>
    reader.read(NO_SUMS, async (ledger) => {
      const { connection, tables, scope } = ledger;
      const [row] = await connection.query<SumColumns>(
        `SELECT count(CASE WHEN gone IS NULL OR gone <> 'canary' THEN 1 END) AS total,
           count(CASE WHEN owes IS NULL AND gone IS NULL THEN 1 END) AS in_sync,
           count(CASE WHEN ${IS_UNDER_WAY} THEN 1 END) AS under_way,
           count(failing_since) AS failing,
           count(CASE WHEN owes LIKE '%doubted%' THEN 1 END) AS in_doubt,
           count(wanted_since) AS wanted,
           count(CASE WHEN gone <> 'canary' THEN 1 END) AS missing,
           count(unverified) AS unverified,
           min(token_since) AS "oldestToken",
           min(CASE WHEN ${IS_UNDER_WAY} THEN intent_at END) AS "underWaySince",
           min(failing_since) AS "failingSince"
         FROM ${tables.groups} WHERE scope = $1`,
        [scope],
      );
      if (!row) return NO_SUMS;
      const { oldestToken, underWaySince, failingSince, ...counts } = row;
      const isFailing = failingSince && !(underWaySince && underWaySince < failingSince);
      return {
        counts: {
          total: Number(counts.total),
          in_sync: Number(counts.in_sync),
          under_way: Number(counts.under_way),
          failing: Number(counts.failing),
          in_doubt: Number(counts.in_doubt),
          wanted: Number(counts.wanted),
          missing: Number(counts.missing),
          unverified: Number(counts.unverified),
        },
        missing: await missingGroups(ledger),
        oldestToken,
        oldestUnsynced: isFailing ? failingSince : underWaySince,
      };
    }),
});

interface SumColumns extends Readonly<Record<keyof GroupCounts, string>> {
  readonly oldestToken: Date | null;
  readonly underWaySince: Date | null;
  readonly failingSince: Date | null;
}

async function missingGroups({ connection, tables, scope }: LedgerScope): Promise<MissingGroups[]> {
  const rows = await connection.query<Omit<MissingGroups, "groups"> & { readonly groups: string }>(
    `SELECT gone AS "kind", gone_since AS "since", count(*) AS "groups" FROM ${tables.groups}
     WHERE scope = $1 AND gone <> 'canary' AND held IS NULL
     GROUP BY gone, gone_since ORDER BY gone_since, gone`,
    [scope],
  );
  return rows.map((row) => ({ ...row, groups: Number(row.groups) }));
}
