import type { RowDataPacket } from "mysql2";
import type { SyncError } from "../../core/errors.ts";
import type { TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { serverLockMs } from "../sql/attendance.ts";
import type { TableName } from "../sql/names.ts";
import { placed, type SourceOptions, sourceError, tableOf, wantedOf } from "../sql/source-query.ts";
import { failures } from "./failures.ts";
import { names } from "./names.ts";
import { ReadingSession } from "./reading-session.ts";
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

  async open(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantSnapshot> {
    const wanted = wantedOf(this.#options, names, columns, seed);
    const explain = (error: unknown): SyncError => sourceError(wanted, failures, error);
    const lockSeconds = Math.ceil(serverLockMs(this.#options.patience) / 1_000);
    const begin = [
      `${SESSION}, lock_wait_timeout = ${lockSeconds}, innodb_lock_wait_timeout = ${lockSeconds}`,
      ...SNAPSHOT,
    ];
    let session: ReadingSession | undefined;
    try {
      session = await ReadingSession.open(this.#options, begin, stop);
      const [[current]] = await session.query<Current>("SELECT database() AS name");
      const find = async ({ schema: named, table }: TableName) => {
        const schema = named ?? current?.name;
        return schema == null ? undefined : { schema, table, owner: null, isOurs: false };
      };
      const found = await placed(wanted, this.#options, names, find, before);
      const rows = await describeRows(session, found);
      return new MysqlTenantSnapshot(tableOf(found), session, rows, this.#options, explain);
    } catch (error) {
      await session?.close();
      throw explain(error);
    }
  }
}

interface Current extends RowDataPacket {
  /** Null where the url names no database. */
  readonly name: string | null;
}
