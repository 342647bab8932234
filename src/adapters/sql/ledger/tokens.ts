import type { TokenTable } from "../../../core/tokens/destination.ts";
import type {
  StoredResult,
  TokenReads,
  TokenWrites,
  VouchedOptions,
  VouchedToken,
} from "../../../ports/ledger/groups.ts";
import {
  type ConfirmedColumns,
  confirmedGroup,
  FAILURE_COLUMNS,
  type FailureValues,
  failuresIn,
  failureValues,
} from "./rows.ts";
import { HAS_TOKEN, type LedgerReader, type LedgerScope, updateGroups } from "./scope.ts";

export const tokenReads = (reader: LedgerReader): TokenReads => ({
  vouchedTokens: (options) => reader.read([], (ledger) => vouchedTokens(ledger, options)),
  sharedTokens: (tokens, of) => reader.read(new Set(), (ledger) => sharedTokens(ledger, tokens, of)),
  tokenDestinations: () => reader.read(null, tokenDestinations),
  tokensVerifiedAt: () => reader.read(null, tokensVerifiedAt),
  tokenTables: () => reader.read([], tokenTables),
});

export const tokenWrites = (ledger: LedgerScope): TokenWrites => ({
  recordStored: (results, now) => recordStored(ledger, results, now),
  recordTokenDestinations: (destinations) =>
    recordColumn(ledger, "places", destinations && JSON.stringify(destinations)),
  recordTokensVerified: (now) => recordColumn(ledger, "verified_at", now),
  recordTokenTables: (tables) => recordColumn(ledger, "token_tables", JSON.stringify(tables)),
});

async function sharedTokens(
  { dialect, connection, tables, scope }: LedgerScope,
  tokens: ReadonlyMap<string, string>,
  of: "recorded" | "all",
): Promise<ReadonlySet<string>> {
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
}

async function tokenDestinations({
  connection,
  tables,
  scope,
}: LedgerScope): Promise<readonly string[] | null> {
  const [row] = await connection.query<{ places: string | null }>(
    `SELECT places FROM ${tables.tokenDestinations} WHERE scope = $1`,
    [scope],
  );
  return row?.places == null ? null : (JSON.parse(row.places) as string[]);
}

async function tokensVerifiedAt({ connection, tables, scope }: LedgerScope): Promise<Date | null> {
  const [row] = await connection.query<{ verifiedAt: Date | null }>(
    `SELECT verified_at AS "verifiedAt" FROM ${tables.tokenDestinations} WHERE scope = $1`,
    [scope],
  );
  return row?.verifiedAt ?? null;
}

async function tokenTables({ connection, tables, scope }: LedgerScope): Promise<readonly TokenTable[]> {
  const [row] = await connection.query<{ tables: string | null }>(
    `SELECT token_tables AS "tables" FROM ${tables.tokenDestinations} WHERE scope = $1`,
    [scope],
  );
  return row?.tables == null ? [] : (JSON.parse(row.tables) as TokenTable[]);
}

async function recordColumn(
  { connection, dialect, tables, scope }: LedgerScope,
  column: "places" | "token_tables" | "verified_at",
  value: string | Date | null,
): Promise<void> {
  await connection.query(
    dialect.upsert({
      into: tables.tokenDestinations,
      columns: ["scope", column],
      from: "VALUES ($1, $2)",
      key: ["scope"],
      set: (is) => ({ [column]: is(column) }),
    }),
    [scope, value],
  );
}

async function vouchedTokens(
  { dialect, connection, tables, scope }: LedgerScope,
  { limit, after, of }: VouchedOptions,
): Promise<VouchedToken[]> {
  const noted = "storing_code IS NOT NULL";
  const named = dialect.isOneOf("user_group_id", "$4");
  const meant = of === "all" ? "" : `AND ${of === "not everywhere" ? noted : named}`;
  const rows = await connection.query<VouchedColumns>(
    `SELECT user_group_id, token_fingerprint AS "tokenFingerprint", confirmed, fingerprint, bucket,
       row_digest AS "digest", data_source_id AS "dataSourceId", ${FAILURE_COLUMNS}
     FROM ${tables.groups}
     WHERE scope = $1 AND user_group_id > $2 AND intent IS NULL AND missing_kind IS NULL
       AND ${HAS_TOKEN} AND fingerprint IS NOT NULL ${meant}
     ORDER BY user_group_id LIMIT $3`,
    [scope, after ?? "", limit, ...(typeof of === "string" ? [] : [of])],
  );
  return rows.map((row) => ({
    user_group_id: row.user_group_id,
    tokenFingerprint: row.tokenFingerprint,
    confirmed: confirmedGroup(row),
    failure: failuresIn(row).storing,
  }));
}

function recordStored(ledger: LedgerScope, results: readonly StoredResult[], now: Date): Promise<void> {
  const rows = results.map(({ user_group_id, failure, sharedToken }) => ({
    id: user_group_id,
    ...(failure && failureValues("storing", failure, failure.retryAt)),
    storing_count: failure?.count ?? 0,
    shared_token: sharedToken ?? null,
  }));
  return updateGroups(
    ledger,
    rows,
    STORED_COLUMNS,
    {
      storing_since: "CASE WHEN t.storing_code IS NOT NULL THEN coalesce(g.storing_since, $4) END",
      storing_code: "t.storing_code",
      storing_message: "t.storing_message",
      storing_count: "t.storing_count",
      storing_retry_at: "t.storing_retry_at",
      shared_token: "coalesce(t.shared_token, g.shared_token)",
    },
    [now],
  );
}

const STORED_COLUMNS = {
  id: "id",
  storing_code: "text",
  storing_message: "text",
  storing_count: "integer",
  storing_retry_at: "time",
  shared_token: "text",
} as const;

interface VouchedColumns extends ConfirmedColumns, FailureValues {
  readonly user_group_id: string;
  readonly tokenFingerprint: string;
}
