import { createConnection } from "mysql2";
import { describe, SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { connectionOptions } from "./connection.ts";
import { databaseError, isSqlMistake } from "./failures.ts";
import { names } from "./names.ts";
import { describeRows, type Wanted } from "./tenant-columns.ts";
import { MysqlTenantSnapshot } from "./tenant-snapshot.ts";

export interface MysqlSourceOptions {
  readonly url: Secret;
  readonly applicationName: string;
  /** Exactly one of `table` and `query`. */
  readonly table?: string | undefined;
  readonly query?: string | undefined;
  /** An SQL predicate on the table's rows. */
  readonly where?: string | undefined;
  /** An SQL predicate that is true of the rows whose tenants are gone. */
  readonly removedWhen?: string | undefined;
}

/**
 * Text forms that don't depend on the server's settings; for the rest its sql_mode stays, as the customer's SQL is
 * written for it. A limit would pass for the end of the rows. max_sort_length, in bytes, has to reach to the end of
 * the longest id. A reader may stand still for an hour.
 */
const SESSION = `SET SESSION
  character_set_client = utf8mb4, character_set_connection = utf8mb4, character_set_results = utf8mb4,
  time_zone = '+00:00',
  sql_mode = REPLACE(@@SESSION.sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', ''),
  sql_select_limit = 18446744073709551615,
  max_sort_length = 4096,
  net_write_timeout = 3600`;
const BEGIN = [
  "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
  "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
];

/** Opens snapshots of the tenants, each over a connection of its own. */
export class MysqlTenantSource implements TenantSource {
  readonly #options: MysqlSourceOptions;

  constructor(options: MysqlSourceOptions) {
    this.#options = options;
  }

  async open(columns: readonly string[], seed: string): Promise<TenantSnapshot> {
    const { url, applicationName, table, removedWhen } = this.#options;
    const name = table ?? "source.query";
    const connection = createConnection({ ...connectionOptions(url, applicationName), jsonStrings: true });
    // Whoever asks a connection that is lost hears no more than that it is closed.
    let lost: Error | undefined;
    connection.on("error", (error) => {
      lost ??= error;
    });
    const session = connection.promise();
    try {
      for (const statement of [SESSION, ...BEGIN]) await session.query(statement);
      const rows = await describeRows(session, {
        name,
        ...placeOf(this.#options),
        removedWhen,
        columns,
        seed,
      });
      return new MysqlTenantSnapshot(connection, rows, (error) => sourceError(name, lost ?? error));
    } catch (error) {
      connection.destroy();
      throw sourceError(name, lost ?? error);
    }
  }
}

function placeOf({ table, query, where }: MysqlSourceOptions): Pick<Wanted, "relation" | "where"> {
  if (table !== undefined) return { relation: names.quoteTable(table), where };
  // The line break ends a comment that the query may end with.
  return { relation: `(${query?.replace(/[\s;]+$/, "")}\n) AS tenants` };
}

function sourceError(name: string, error: unknown): SyncError {
  if (!isSqlMistake(error)) return databaseError("SOURCE_UNAVAILABLE", `cannot read ${name}`, error);
  return new SyncError("CONFIG_SOURCE", `cannot read ${name}: ${describe(error)}`, {
    hint: "check source.where, source.query and source.removed_when: they are SQL of this database",
    cause: error,
  });
}
