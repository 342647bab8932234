import type * as z from "zod";
import { Secret } from "../../core/secret/secret.ts";
import type { DatabaseUrl, TokenConfig } from "../model/config.ts";
import { describeDatabase, describeTable } from "../model/database-description.ts";
import { clash } from "./clashing-stores.ts";
import { type CrossCheck, isRecord } from "./section.ts";
import type { tokenStores } from "./token-stores.ts";

/** What is wrong between the sections of the file. */
export const checkSections: CrossCheck = function* (sections, isRight) {
  yield* checkRemovedRows(sections, isRight);
  yield* checkTokens(sections, isRight);
  yield* checkLedger(sections, isRight);
};

const checkRemovedRows: CrossCheck = function* ({ source, deletion }) {
  if (!isRecord(source) || !isRecord(deletion)) return;
  if (deletion.when === "flagged" && source.removed_when === undefined) {
    yield [
      "source.removed_when",
      "is missing; with deletion.when: flagged, write the condition that is true of a removed tenant's row, like deleted_at IS NOT NULL",
    ];
  }
};

const checkLedger: CrossCheck = function* ({ source, ledger }) {
  if (!isRecord(source) || !isRecord(ledger)) return;
  const prefix = ledger.table_prefix;
  if (isMysql(ledger.url ?? source.url) && isRecord(prefix) && prefix.schema !== undefined) {
    yield [
      "ledger.table_prefix",
      "has a schema, which MySQL has not; name the database in ledger.url instead",
    ];
  }
};

type ParsedStore = z.output<typeof tokenStores>[number];

/** Skips stores in which something is wrong: their values may not be parsed. */
const checkTokens: CrossCheck = function* ({ source, tokens }, isRight) {
  if (!isRecord(source) || !Array.isArray(tokens)) return;
  const earlier: { readonly key: string; readonly config: TokenConfig }[] = [];
  for (const [n, store] of (tokens as readonly ParsedStore[]).entries()) {
    if (!isRight("tokens", n)) continue;
    const key = `tokens.${n}`;
    if (store.store === "table") yield* checkTable(key, store, source);
    const config = withUrl(store, source.url);
    if (config === undefined) continue;
    const clashes = earlier.map((other) =>
      clash(config, other.config, `${other.key} on {line of ${other.key}}`),
    );
    const message = clashes.find((text) => text !== undefined);
    if (message !== undefined) yield [key, message];
    earlier.push({ key, config });
  }
};

type TableStore = Extract<ParsedStore, { readonly store: "table" }>;

const checkTable = function* (
  key: string,
  store: TableStore,
  source: Readonly<Record<string, unknown>>,
): ReturnType<CrossCheck> {
  const url = store.url ?? source.url;
  const sameDatabase = store.url === undefined || isSameDatabase(store.url, source.url);
  if (store.rows === "own" && sameDatabase && isSameTable(store.table, source.table)) {
    const remedy = "to write tokens into its rows, add rows: existing; otherwise name another table";
    yield [
      `${key}.table`,
      `is the table of the tenants, whose rows would be inserted and deleted; ${remedy}`,
    ];
  }
  if (store.owner !== undefined && isMysql(url)) {
    yield [
      `${key}.owner`,
      "is a role of PostgreSQL, and the tokens go into MySQL, whose tables have no owners; leave it out",
    ];
  }
  if (store.notify !== undefined && isMysql(url)) {
    yield [
      `${key}.notify`,
      "is a channel of PostgreSQL, and the tokens go into MySQL, which has none; leave it out",
    ];
  }
};

/** The store with its url, which by default is the source's; undefined if the source's url is wrong. */
function withUrl(store: ParsedStore, sourceUrl: unknown): TokenConfig | undefined {
  if (store.store !== "table") return store;
  const url = store.url ?? sourceUrl;
  return isDatabaseUrl(url) ? { ...store, url } : undefined;
}

const isDatabaseUrl = (value: unknown): value is DatabaseUrl =>
  isRecord(value) && value.url instanceof Secret;

export const isMysql = (url: unknown): boolean => isDatabaseUrl(url) && url.dialect === "mysql";

const isSameDatabase = (a: unknown, b: unknown): boolean =>
  isDatabaseUrl(a) && isDatabaseUrl(b) && describeDatabase(a) === describeDatabase(b);

const isSameTable = (a: unknown, b: unknown): boolean =>
  typeof a === "string" && typeof b === "string" && describeTable(a) === describeTable(b);
