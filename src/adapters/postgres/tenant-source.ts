import type { SyncError } from "../../core/errors.ts";
import type { TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { serverLockMs } from "../sql/attendance.ts";
import type { TableName } from "../sql/names.ts";
import { placed, type SourceOptions, sourceError, tableOf, wantedOf } from "../sql/source-query.ts";
import { failures } from "./failures.ts";
import { missingRight } from "./grants.ts";
import { quoteName, quoteTable } from "./names.ts";
import { ReadingSession } from "./reading-session.ts";
import { tablePlace } from "./table-place.ts";
import { describeRows } from "./tenant-columns.ts";
import { PostgresTenantSnapshot } from "./tenant-snapshot.ts";

/** The snapshot, and text forms that don't depend on the server's settings. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL TimeZone = 'UTC';
  SET LOCAL DateStyle = 'ISO, YMD';
  SET LOCAL IntervalStyle = 'iso_8601';
  SET LOCAL bytea_output = 'hex';
  SET LOCAL extra_float_digits = 1`;

/** Opens snapshots of the tenants, each over a connection of its own. */
export class PostgresTenantSource implements TenantSource {
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
    const wanted = wantedOf(this.#options, { quoteTable }, columns, seed);
    const hintFor = (error: unknown): string | undefined =>
      missingRight(error, wanted, this.#options.url) ?? failures.hintFor(error);
    const explain = (error: unknown): SyncError => sourceError(wanted, { ...failures, hintFor }, error);
    const { patience, rowSecurity } = this.#options;
    const begin = `${BEGIN};
      SET LOCAL row_security = ${rowSecurity === "filter" ? "on" : "off"};
      SET LOCAL lock_timeout = ${serverLockMs(patience)}`;
    let session: ReadingSession | undefined;
    try {
      session = await ReadingSession.open(this.#options, begin, stop);
      const reading = session;
      const query = async <Row extends object>(text: string, values: readonly unknown[] = []) =>
        (await reading.query<Row>(text, [...values])).rows;
      const find = (name: TableName) => tablePlace({ query }, name);
      const found = await placed(wanted, this.#options, { quoteName }, find, before);
      const rows = await describeRows(session, found);
      return new PostgresTenantSnapshot(tableOf(found), session, rows, this.#options, explain);
    } catch (error) {
      await session?.close();
      throw explain(error);
    }
  }
}
