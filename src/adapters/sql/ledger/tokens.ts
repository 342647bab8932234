import type { TokenTable } from "../../../core/tokens/destination.ts";
import type { TokenDestinations, TokenReads, TokenWrites } from "../../../ports/ledger/groups.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { type LedgerScope, setScopeRow } from "./scope.ts";

export const tokenReads = (reader: LedgerReader): TokenReads => ({
  sharedTokens: (tokens, of) =>
    reader.read(new Set<string>(), async ({ dialect, connection, tables, scope }) => {
      // A UNION and no OR, so that each column is found by its own index.
      const having = (table: string, column: string): string =>
        `SELECT user_group_id AS "id", ${column} AS "token" FROM ${dialect.rowsByIndex(table, column)}`;
      const rows = await connection.query<{ id: string; token: string }>(
        [
          having(tables.groups, "token_fingerprint"),
          having(tables.formerTokens, "token_fingerprint"),
          ...(of === "all" ? [having(tables.groups, "shared_token")] : []),
        ].join(" UNION ALL "),
        [scope, [...tokens.values()]],
      );
      const shared = [...tokens].filter(([id, token]) =>
        rows.some((row) => row.token === token && row.id !== id),
      );
      return new Set(shared.map(([id]) => id));
    }),

  tokenDestinations: () =>
    reader.read(NO_DESTINATIONS, async ({ connection, tables, scope }) => {
      const [row] = await connection.query<DestinationColumns>(
        `SELECT places, token_tables AS "tables", verified_at AS "verifiedAt"
           FROM ${tables.tokenDestinations} WHERE scope = $1`,
        [scope],
      );
      if (!row) return NO_DESTINATIONS;
      return {
        complete: row.places === null ? null : (JSON.parse(row.places) as string[]),
        verifiedAt: row.verifiedAt,
        tables: JSON.parse(row.tables ?? "[]") as TokenTable[],
      };
    }),
});

const NO_DESTINATIONS: TokenDestinations = { complete: null, verifiedAt: null, tables: [] };

interface DestinationColumns {
  readonly places: string | null;
  readonly tables: string | null;
  readonly verifiedAt: Date | null;
}

export const tokenWrites = (ledger: LedgerScope): TokenWrites => ({
  recordTokenDestinations: ({ complete, verifiedAt, tables }) =>
    setScopeRow(ledger, ledger.tables.tokenDestinations, {
      ...(complete !== undefined && { places: complete && JSON.stringify(complete) }),
      ...(verifiedAt !== undefined && { verified_at: verifiedAt }),
      ...(tables && { token_tables: JSON.stringify(tables) }),
    }),
});
