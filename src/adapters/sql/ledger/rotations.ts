import { rotationCandidate } from "../../../core/record/candidates.ts";
import type { DueTokens, RotationReads } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { recordsWhere } from "./records.ts";
import { countWhere, type LedgerScope } from "./scope.ts";

// As in `rotationCandidate`.
const WANTED =
  "wanted_since IS NOT NULL AND (intent IS NULL OR (intent IN ('apply', 'rotate') AND confirmed IS NOT NULL))";
const OLD = "wanted_since IS NULL AND gone IS NULL AND (intent IS NULL OR intent = 'rotate')";

export const rotationReads = (reader: LedgerReader): RotationReads => ({
  rotatable: ({ limit, after, ...which }) =>
    reader.read([], async (ledger) => {
      const values: unknown[] = [ledger.scope];
      const conditions = [dueCondition(which, ledger, values)];
      if (after) {
        const since = `$${values.push(after.tokenSince)}`;
        const id = `$${values.push(after.user_group_id)}`;
        conditions.push(`token_since >= ${since} AND (token_since > ${since} OR user_group_id > ${id})`);
      }
      const page = `ORDER BY token_since, user_group_id LIMIT $${values.push(limit)}`;
      const records = await recordsWhere(ledger, `${conditions.join(" AND ")} ${page}`, values);
      return records.flatMap((record) => rotationCandidate(record) ?? []);
    }),

  rotatableCount: (which) =>
    reader.read(0, (ledger) => {
      const values: unknown[] = [ledger.scope];
      return countWhere(ledger, ledger.tables.groups, dueCondition(which, ledger, values), values);
    }),
});

/** A condition: the token is due. Appends its parameters to the statement's `values`. */
function dueCondition({ due, of }: DueTokens, { dialect }: LedgerScope, values: unknown[]): string {
  const isWanted = due === "wanted" ? WANTED : `wanted_by = 'name' AND ${WANTED}`;
  const isDue = due instanceof Date ? `token_since <= $${values.push(due)} AND ${OLD}` : isWanted;
  const isNamed = of ? ` AND ${dialect.isOneOf("user_group_id", `$${values.push(of)}`)}` : "";
  return `scope = $1 AND token_since IS NOT NULL AND ${isDue}${isNamed}`;
}
