import { databaseError } from "../../adapters/sql/connection/failures.ts";
import type { WaitLimits } from "../../adapters/sql/connection/wait-limits.ts";
import type { Database } from "../../adapters/sql/dialect/database.ts";
import type { Opened } from "../../commands/command-io.ts";
import type { Config } from "../../config/model/config.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf } from "../../core/group/group-rules.ts";
import { connectionFindings } from "../../engine/check/connections.ts";
import type { Check, SyncConnection } from "../../ports/check.ts";
import { Databases, LEDGER_CONNECTIONS, TOKEN_CONNECTIONS, VIEW_TIMEOUTS } from "../databases.ts";
import type { Host } from "../host.ts";
import { tenantSource } from "../tenant-source.ts";
import { whileOpen } from "./subjects.ts";

/** A pooler that has a connection to spare gives it sooner. */
const TRIAL: WaitLimits = { answerMs: 5_000, afterStopMs: 0, isRead: true };

export const connectionCheck = (config: Config, host: Host): Check =>
  whileOpen("connections", host, (own) => syncConnections(config, own), connectionFindings);

/**
 * What a sync has open while it reads the source, while it writes to ledger and tokens in different databases, and while
 * it reads tokens or renews its lease beside a transaction of the ledger.
 */
async function syncConnections(config: Config, { stop }: Host): Promise<Opened<readonly SyncConnection[]>> {
  const { name, group } = config;
  const databases = new Databases(name, VIEW_TIMEOUTS, stop);
  const source = await tenantSource(config, databases);
  const ledger = await databases.open(config.ledger.url, LEDGER_CONNECTIONS);
  const tokens = await Promise.all(
    config.tokens.flatMap((store) =>
      store.store === "table" ? [databases.open(store.url, TOKEN_CONNECTIONS)] : [],
    ),
  );
  return {
    value: [
      {
        for: "for the source",
        open: async (until) => {
          const snapshot = await source.open(columnsOf(group), digestSeed(group), until);
          return () => snapshot.close();
        },
      },
      {
        for: "for the ledger",
        open: () => transactionIn(ledger, "LEDGER_UNAVAILABLE", "open the ledger"),
      },
      // A token table in the ledger's database takes part in the ledger's transactions.
      ...[...new Set(tokens)]
        .filter((database) => database !== ledger)
        .map((database) => ({
          for: "for the tokens",
          open: () => transactionIn(database, "TOKEN_STORE_UNAVAILABLE", "write tokens"),
        })),
      {
        for: "for the ledger a second time",
        // If both have the same url, the source's connection does once the source is read.
        isSpare: config.source.url.url.reveal() === config.ledger.url.url.reveal(),
        open: () => transactionIn(ledger, "LEDGER_UNAVAILABLE", "renew the lease"),
      },
    ],
    close: () => databases.close(),
  };
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
