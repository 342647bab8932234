import { rotationCandidate } from "../../../core/record/candidates.ts";
import type { RotationReads } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { recordsWhere } from "./records.ts";
import { countWhere } from "./scope.ts";

const ROTATABLE =
  "scope = $1 AND token_since <= $2 AND gone IS NULL AND (intent IS NULL OR intent = 'rotate')";

export const rotationReads = (reader: LedgerReader): RotationReads => ({
  rotatable: ({ until, limit, after }) =>
    reader.read([], async (ledger) => {
      const isAfter = after ? "AND token_since >= $4 AND (token_since > $4 OR user_group_id > $5)" : "";
      const records = await recordsWhere(
        ledger,
        `${ROTATABLE} ${isAfter} ORDER BY token_since, user_group_id LIMIT $3`,
        [ledger.scope, until, limit, ...(after ? [after.tokenSince, after.user_group_id] : [])],
      );
      return records.flatMap((record) => rotationCandidate(record) ?? []);
    }),

  rotatableCount: (until) =>
    reader.read(0, (ledger) => countWhere(ledger, ledger.tables.groups, ROTATABLE, [ledger.scope, until])),
});
