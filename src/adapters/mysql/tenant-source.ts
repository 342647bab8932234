import { createConnection } from "mysql2";
import type { TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { type SourceOptions, sourceError, wantedOf } from "../sql/source-query.ts";
import { connectionOptions } from "./connection.ts";
import { failures } from "./failures.ts";
import { names } from "./names.ts";
import { EVERY_SESSION, SNAPSHOT } from "./session.ts";
import { describeRows } from "./tenant-columns.ts";
import { MysqlTenantSnapshot } from "./tenant-snapshot.ts";

/**
 * Text forms that don't depend on the server's settings; for the rest its sql_mode stays, as the customer's SQL is
 * written for it. max_sort_length, in bytes, has to reach to the end of the longest id. A reader may stand still for
 * an hour.
 */
const SESSION = `SET SESSION ${EVERY_SESSION},
  sql_mode = REPLACE(@@SESSION.sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', ''),
  max_sort_length = 4096,
  net_write_timeout = 3600`;

/** Opens snapshots of the tenants, each over a connection of its own. */
export class MysqlTenantSource implements TenantSource {
  readonly #options: SourceOptions;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  async open(columns: readonly string[], seed: string): Promise<TenantSnapshot> {
    const { url, applicationName } = this.#options;
    const wanted = wantedOf(this.#options, names, columns, seed);
    const connection = createConnection({ ...connectionOptions(url, applicationName), jsonStrings: true });
    // Whoever asks a connection that is lost hears no more than that it is closed.
    let lost: Error | undefined;
    connection.on("error", (error) => {
      lost ??= error;
    });
    const session = connection.promise();
    try {
      for (const statement of [SESSION, ...SNAPSHOT]) await session.query(statement);
      const rows = await describeRows(session, wanted);
      return new MysqlTenantSnapshot(connection, rows, (error) =>
        sourceError(wanted, failures, lost ?? error),
      );
    } catch (error) {
      connection.destroy();
      throw sourceError(wanted, failures, lost ?? error);
    }
  }
}
