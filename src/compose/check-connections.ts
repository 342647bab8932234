import { databaseError } from "../adapters/sql/connection/failures.ts";
import type { WaitLimits } from "../adapters/sql/connection/wait-limits.ts";
import type { Database } from "../adapters/sql/dialect/database.ts";
import type { Config } from "../config/config.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import { digestSeed } from "../core/group/desired-group.ts";
import { columnsOf } from "../core/group/group-rules.ts";
import type { SyncConnection } from "../engine/check/databases.ts";
import { Databases, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";
import type { Opened } from "./opened.ts";
import { changeFeed, tenantSource } from "./tenant-source.ts";

/** A pooler that has a connection to spare gives it sooner. */
const TRIAL: WaitLimits = { answerMs: 5_000, afterStopMs: 0, isRead: true };

/**
 * What a sync has open while it reads the source, while it writes to ledger and tokens in different databases, and while
 * it renews its lease beside a transaction of the ledger; and what the daemon has open besides for `source.changes.column`.
 * A pooler in session mode reserves a connection for each.
 */
export async function connectionsAtOnce(
  config: Config,
  { stop }: Host,
): Promise<Opened<readonly SyncConnection[]>> {
  const { name, group } = config;
  const { column } = config.source.changes;
  const databases = new Databases(name, VIEW_TIMEOUTS, stop);
  const source = await tenantSource(config, databases);
  const feed = column === undefined ? undefined : await changeFeed(config, column);
  const ledger = await databases.open(config.ledger.url);
  const tokens = await Promise.all(
    config.tokens.flatMap((store) => (store.store === "table" ? [databases.open(store.url)] : [])),
  );
  const [columns, seed] = [columnsOf(group), digestSeed(group)];
  const reading = (
    what: string,
    open: (stop: AbortSignal) => Promise<{ close(): Promise<unknown> }>,
  ): SyncConnection => ({
    for: `for ${what}`,
    open: async (until) => {
      const opened = await soon(until, open);
      return () => opened.close();
    },
  });
  const writing = (what: string, database: Database, code: string): SyncConnection => ({
    for: `for ${what}`,
    open: () => transactionIn(database, code, `open ${what}`),
  });
  return {
    value: [
      ...(feed
        ? [
            reading("source.changes.column", (until) => feed.open(until)),
            reading("single tenants", (until) => source.lookups(columns, seed, until)),
          ]
        : []),
      reading("the source", (until) => source.open(columns, seed, until)),
      writing("the ledger", ledger, "LEDGER_UNAVAILABLE"),
      // A token table in the ledger's database takes part in the ledger's transactions.
      ...[...new Set(tokens)]
        .filter((database) => database !== ledger)
        .map((database) => writing("the tokens", database, "TOKEN_STORE_UNAVAILABLE")),
      writing("the ledger a second time", ledger, "LEDGER_UNAVAILABLE"),
    ],
    close: () => databases.close(),
  };
}

/** Gives up once a pooler that has a connection to spare would have given it. */
async function soon<T>(until: AbortSignal, open: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(TRIAL.answerMs);
  try {
    return await open(AbortSignal.any([until, limit]));
  } catch (cause) {
    if (!limit.aborted) throw cause;
    const silence = `the database has not answered for ${TRIAL.answerMs / 1_000} s`;
    throw new SyncError("SOURCE_UNAVAILABLE", `cannot read the source: ${silence}`, { cause });
  }
}

/** Begins a transaction, and resolves to what ends it. */
const transactionIn = (database: Database, code: string, doing: string): Promise<() => Promise<void>> =>
  new Promise((resolve, reject) => {
    const { dialect } = database;
    let end = (): void => {};
    const isOver = new Promise<void>((over) => {
      end = over;
    });
    const ended = database
      .transaction(
        dialect.begin.write,
        () => {
          resolve(() => {
            end();
            return ended;
          });
          return isOver;
        },
        TRIAL,
      )
      .catch((error: unknown) => {
        throw databaseError(dialect, code, `cannot ${doing}`, error);
      });
    ended.catch(reject);
  });
