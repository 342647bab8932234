import type { TokenTable } from "../../../core/tokens/destination.ts";
import type { TokenReads, TokenWrites } from "../../../ports/ledger/groups.ts";
import {
  CONFIRMED_COLUMNS,
  type ConfirmedColumns,
  confirmedGroup,
  FAILURE_COLUMNS,
  type FailureValues,
  failuresIn,
  failureValues,
} from "./rows.ts";
import { HAS_TOKEN, type LedgerReader, type LedgerScope, setScopeRow, updateGroups } from "./scope.ts";

export const tokenReads = (reader: LedgerReader): TokenReads => {
  /** What the ledger keeps of the scope's destinations; undefined if it keeps nothing. */
  const destinations = (): Promise<DestinationColumns | undefined> =>
    reader.read(undefined, async ({ connection, tables, scope }) => {
      const [row] = await connection.query<DestinationColumns>(
        `SELECT places, token_tables AS "tables", verified_at AS "verifiedAt"
         FROM ${tables.tokenDestinations} WHERE scope = $1`,
        [scope],
      );
      return row;
    });

  return {
    vouchedTokens: ({ limit, after, of }) =>
      reader.read([], async ({ dialect, connection, tables, scope }) => {
        const named = dialect.isOneOf("user_group_id", "$4");
        const meant = of === "all" ? "TRUE" : of === "not everywhere" ? "storing_code IS NOT NULL" : named;
        const rows = await connection.query<VouchedColumns>(
          `SELECT user_group_id, token_fingerprint AS "tokenFingerprint", ${CONFIRMED_COLUMNS}, ${FAILURE_COLUMNS}
           FROM ${tables.groups}
           WHERE scope = $1 AND user_group_id > $2 AND intent IS NULL AND missing_kind IS NULL
             AND ${HAS_TOKEN} AND fingerprint IS NOT NULL AND ${meant}
           ORDER BY user_group_id LIMIT $3`,
          [scope, after ?? "", limit, ...(typeof of === "string" ? [] : [of])],
        );
        return rows.map((row) => ({
          user_group_id: row.user_group_id,
          tokenFingerprint: row.tokenFingerprint,
          confirmed: confirmedGroup(row),
          failure: failuresIn(row).storing,
        }));
      }),

    sharedTokens: (tokens, of) =>
      reader.read(new Set<string>(), async ({ dialect, connection, tables, scope }) => {
        // A UNION and no OR, so that each column is found by its own index.
        const having = (column: string): string =>
          `SELECT user_group_id AS "id", ${column} AS "token" FROM ${dialect.rowsByIndex(tables.groups, column)}`;
        const columns = of === "all" ? ["token_fingerprint", "shared_token"] : ["token_fingerprint"];
        const rows = await connection.query<{ id: string; token: string }>(
          columns.map(having).join(" UNION ALL "),
          [scope, [...tokens.values()]],
        );
        const shared = [...tokens].filter(([id, token]) =>
          rows.some((row) => row.token === token && row.id !== id),
        );
        return new Set(shared.map(([id]) => id));
      }),

    async tokenDestinations() {
      const places = (await destinations())?.places ?? null;
      return places === null ? null : (JSON.parse(places) as string[]);
    },

    async tokensVerifiedAt() {
      return (await destinations())?.verifiedAt ?? null;
    },

    async tokenTables() {
      return JSON.parse((await destinations())?.tables ?? "[]") as TokenTable[];
    },
  };
};

interface DestinationColumns {
  readonly places: string | null;
  readonly tables: string | null;
  readonly verifiedAt: Date | null;
}

interface VouchedColumns extends ConfirmedColumns, FailureValues {
  readonly user_group_id: string;
  readonly tokenFingerprint: string;
}

const STORED_COLUMNS = {
  id: "id",
  storing_code: "text",
  storing_message: "text",
  storing_count: "integer",
  storing_retry_at: "time",
  shared_token: "text",
} as const;

export const tokenWrites = (ledger: LedgerScope): TokenWrites => {
  const { tokenDestinations } = ledger.tables;
  return {
    recordStored(results, now) {
      const rows = results.map(({ user_group_id, failure, sharedToken }) => ({
        id: user_group_id,
        ...(failure && failureValues("storing", failure, failure.retryAt)),
        storing_count: failure?.count ?? 0,
        shared_token: sharedToken ?? null,
      }));
      const set = {
        storing_since: "CASE WHEN t.storing_code IS NOT NULL THEN coalesce(g.storing_since, $4) END",
        storing_code: "t.storing_code",
        storing_message: "t.storing_message",
        storing_count: "t.storing_count",
        storing_retry_at: "t.storing_retry_at",
        shared_token: "coalesce(t.shared_token, g.shared_token)",
      };
      return updateGroups(ledger, rows, STORED_COLUMNS, set, [now]);
    },

    recordTokenDestinations: (destinations) =>
      setScopeRow(ledger, tokenDestinations, { places: destinations && JSON.stringify(destinations) }),

    recordTokensVerified: (now) => setScopeRow(ledger, tokenDestinations, { verified_at: now }),

    recordTokenTables: (tables) =>
      setScopeRow(ledger, tokenDestinations, { token_tables: JSON.stringify(tables) }),
  };
};
