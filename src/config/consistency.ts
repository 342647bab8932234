import { Secret } from "../core/secret.ts";
import { clash } from "./clashing-stores.ts";
import type { DatabaseUrl, TokenConfig } from "./config.ts";
import { describeDatabase, describeTable } from "./database-place.ts";
import { isRecord, type KeyRule } from "./section.ts";

export const sourceFits: KeyRule = function* ({ url, table, query, where, row_security }) {
  if (table !== undefined && query !== undefined) {
    yield ["query", "cannot stand beside table; keep one of the two"];
  } else if (table === undefined && query === undefined) {
    yield ["table", "is missing; name the table or view that has one row a tenant, or write a query"];
  }
  if (where !== undefined && table === undefined) {
    yield ["where", "goes only with table; put the condition into the query"];
  }
  if (row_security !== undefined && isMysql(url)) {
    yield ["row_security", "is about the policies of PostgreSQL, and MySQL has none; leave it out"];
  }
};

export const existingRowsAreNamed: KeyRule = function* (tokens) {
  if (tokens.rows === "existing") {
    for (const key of ["table", "id_column", "token_column"]) {
      if (tokens[key] !== undefined) continue;
      yield [key, `is missing; with rows: existing, name the ${key.replace("_", " ")} of the tokens`];
    }
  }
  if (tokens.token_column !== undefined && tokens.token_column === tokens.id_column) {
    yield ["token_column", "is the id_column too; the token needs a column of its own"];
  }
};

export const limitsHaveAnAge: KeyRule = function* (rotation) {
  if (rotation.max_age !== undefined) return;
  for (const key of ["window", "max_per_run"]) {
    if (rotation[key] === undefined) continue;
    yield [key, "goes only with max_age, without which no sync rotates; add max_age, like 90d"];
  }
};

const flaggedRowsAreKnown: KeyRule = function* ({ source, deletion }) {
  if (!isRecord(source) || !isRecord(deletion)) return;
  if (deletion.when === "flagged" && source.removed_when === undefined) {
    yield [
      "source.removed_when",
      "is missing; with deletion.when: flagged, write the condition that is true of a removed tenant's row, like deleted_at IS NOT NULL",
    ];
  }
};

const tokensFit: KeyRule = function* ({ source, tokens: stores }) {
  const entries = Array.isArray(stores)
    ? stores.map((store, index) => [`tokens.${index}`, store] as const)
    : [["tokens", stores] as const];
  if (!isRecord(source)) return;
  for (const [key, store] of entries) if (isRecord(store)) yield* tableFits(key, store, source);
  yield* storesGetAlong(entries, source);
};

const storesGetAlong = function* (
  entries: readonly (readonly [string, unknown])[],
  source: Readonly<Record<string, unknown>>,
): Iterable<readonly [string, string]> {
  const stores = entries.flatMap(([key, store]) => {
    const config = asTokenStore(store, source.url);
    return config ? [{ key, config }] : [];
  });
  for (const [n, { key, config }] of stores.entries()) {
    const others = stores
      .slice(0, n)
      .map((other) => clash(config, other.config, `${other.key} on {line of ${other.key}}`));
    const message = others.find((text) => text !== undefined);
    if (message !== undefined) yield [key, message];
  }
};

const tableFits = function* (
  key: string,
  tokens: Readonly<Record<string, unknown>>,
  source: Readonly<Record<string, unknown>>,
): Iterable<readonly [string, string]> {
  const sameDatabase = tokens.url === undefined || isSameDatabase(tokens.url, source.url);
  if (tokens.rows === "own" && sameDatabase && isSameTable(tokens.table, source.table)) {
    const remedy = "to write tokens into its rows, add rows: existing; otherwise name another table";
    yield [
      `${key}.table`,
      `is the table of the tenants, whose rows would be inserted and deleted; ${remedy}`,
    ];
  }
  if (tokens.owner !== undefined && isMysql(tokens.url ?? source.url)) {
    yield [
      `${key}.owner`,
      "is a role of PostgreSQL, and the tokens go into MySQL, whose tables have no owners; leave it out",
    ];
  }
  if (tokens.notify !== undefined && isMysql(tokens.url ?? source.url)) {
    yield [
      `${key}.notify`,
      "is a channel of PostgreSQL, and the tokens go into MySQL, which has none; leave it out",
    ];
  }
};

const ledgerFits: KeyRule = function* ({ source, ledger }) {
  if (!isRecord(source) || !isRecord(ledger)) return;
  if (isMysql(ledger.url ?? source.url) && isRecord(ledger.table_prefix)) {
    if (ledger.table_prefix.schema !== undefined) {
      yield [
        "ledger.table_prefix",
        "has a schema, which MySQL has not; name the database in ledger.url instead",
      ];
    }
  }
};

export const sectionsFitTogether: KeyRule = function* (sections) {
  yield* flaggedRowsAreKnown(sections);
  yield* tokensFit(sections);
  yield* ledgerFits(sections);
};

const isDatabaseUrl = (value: unknown): value is DatabaseUrl =>
  isRecord(value) && value.url instanceof Secret;

/** Undefined for one that was wrong, and has become something else. */
function asTokenStore(store: unknown, sourceUrl: unknown): TokenConfig | undefined {
  if (!isTokenStore(store)) return undefined;
  if (store.store !== "table") return store;
  const url = store.url ?? sourceUrl;
  return isDatabaseUrl(url) ? { ...store, url } : undefined;
}

const isTokenStore = (value: unknown): value is TokenConfig =>
  isRecord(value) && typeof value.store === "string";

const isMysql = (url: unknown): boolean => isDatabaseUrl(url) && url.dialect === "mysql";

const isSameDatabase = (a: unknown, b: unknown): boolean =>
  isDatabaseUrl(a) && isDatabaseUrl(b) && describeDatabase(a) === describeDatabase(b);

const isSameTable = (a: unknown, b: unknown): boolean =>
  typeof a === "string" && typeof b === "string" && describeTable(a) === describeTable(b);
