import {
  type CandidateList,
  type GroupSelection,
  lastVerified,
  nameKey,
  nameKeyOf,
} from "../../../core/record/candidates.ts";
import { failingSince } from "../../../core/record/owes.ts";
import type { GroupRecord } from "../../../core/record/record.ts";
import type { GroupReads } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { recordsWhere } from "./records.ts";
import { type LedgerScope, storable } from "./scope.ts";

export const candidateReads = (reader: LedgerReader): Pick<GroupReads, "candidates"> => ({
  candidates: (list, { limit, after }) =>
    reader.read([], (ledger) => {
      const values: unknown[] = [ledger.scope];
      const parameter = (value: unknown): string => `$${values.push(value)}`;
      const conditions = [conditionOf(list, ledger, parameter)];
      const first = ORDERS[list.kind];
      if (first === null) conditions.push(`user_group_id > ${parameter(after?.user_group_id ?? "")}`);
      else if (after) {
        const at = parameter(first.of(after));
        const id = parameter(after.user_group_id);
        conditions.push(`${first.column} >= ${at} AND (${first.column} > ${at} OR user_group_id > ${id})`);
      }
      const order = first === null ? "user_group_id" : `${first.column}, user_group_id`;
      const page = `ORDER BY ${order} LIMIT ${parameter(limit)}`;
      return recordsWhere(ledger, `${conditions.join(" AND ")} ${page}`, values);
    }),
});

/** By which column a list is ordered before the ids; null: by the ids alone. */
const ORDERS = {
  existing: null,
  owing: null,
  held: null,
  "id begins": null,
  "name begins": { column: "name_key", of: nameKeyOf },
  failing: { column: "failing_since", of: failingSince },
  vouched: null,
  rotatable: { column: "token_since", of: ({ tokenSince }: GroupRecord) => tokenSince },
  refreshable: { column: "verified_at", of: lastVerified },
} as const;

/** A condition: the group is in the list, or in the scope if there is no list. The scope is $1. */
export function conditionOf(
  list: CandidateList | undefined,
  { dialect }: LedgerScope,
  parameter: (value: unknown) => string,
): string {
  if (list === undefined) return "scope = $1";
  const conditions = ["scope = $1", ...ofKind(list, parameter)];
  const of = "of" in list && typeof list.of === "object" ? list.of : null;
  if (of) conditions.push(dialect.isOneOf("user_group_id", parameter(of)));
  return conditions.join(" AND ");
}

/** As in core/record/candidates.ts. */
function ofKind(list: CandidateList, parameter: (value: unknown) => string): readonly string[] {
  switch (list.kind) {
    case "existing":
      return existing(list, parameter);
    case "owing":
      return ["owes IS NOT NULL"];
    case "held":
      return ["held IS NOT NULL"];
    case "id begins":
      return begins("user_group_id", storable(list.text), parameter);
    case "name begins":
      return begins("name_key", nameKey(list.text), parameter);
    case "failing":
      return ["failing_since IS NOT NULL"];
    case "vouched": {
      const vouched = ["intent IS NULL", "gone IS NULL", "fingerprint IS NOT NULL", HAS_TOKEN];
      return list.of === "not everywhere" ? [...vouched, "owes LIKE '%storing%'"] : vouched;
    }
    case "rotatable": {
      const { due } = list;
      if (due instanceof Date) return [`token_since <= ${parameter(due)}`, ...OLD];
      return due === "wanted" ? WANTED : ["wanted_by = 'name'", ...WANTED];
    }
    case "refreshable": {
      const { since, now } = list;
      const isDue = `(verified_at < ${parameter(since)} OR verified_at > ${parameter(now)})`;
      return [isDue, "at_rest > 0", "held IS NULL", "confirmed IS NOT NULL"];
    }
    default:
      return list satisfies never;
  }
}

/** Not LIKE, whose wildcards the text may have. No text that is sent has the last character of all. */
const begins = (column: string, text: string, parameter: (value: unknown) => string): readonly string[] => [
  `${column} >= ${parameter(text)}`,
  `${column} < ${parameter(`${text}\u{10ffff}`)}`,
];

/**
 * A condition: the group has a token. Not `IS NOT NULL`, which the index on tokens has as its condition: as long as a new
 * table has no statistics, PostgreSQL would choose that index for a query by id, and read the whole scope.
 */
const HAS_TOKEN = "coalesce(token_fingerprint, '') <> ''";

const WANTED = [
  "token_since IS NOT NULL",
  "wanted_since IS NOT NULL",
  "(intent IS NULL OR (intent IN ('apply', 'rotate') AND confirmed IS NOT NULL))",
];
const OLD = [
  "token_since IS NOT NULL",
  "wanted_since IS NULL",
  "gone IS NULL",
  "(intent IS NULL OR intent = 'rotate')",
];

function existing(
  { liveSince, isWanted, isRemovalUnderWay }: GroupSelection,
  parameter: (value: unknown) => string,
): readonly string[] {
  // A group that has neither time may have an old token.
  const since = "coalesce(token_since, intent_at)";
  return [
    "(intent <> 'remove' OR (intent IS NULL AND fingerprint IS NOT NULL))",
    "(gone IS NULL OR gone <> 'canary')",
    ...(isWanted ? ["wanted_since IS NOT NULL"] : []),
    ...(isRemovalUnderWay ? ["intent IN ('replace', 'delete')"] : []),
    ...(liveSince ? [`(${since} IS NULL OR ${since} <= ${parameter(liveSince)})`] : []),
  ];
}
