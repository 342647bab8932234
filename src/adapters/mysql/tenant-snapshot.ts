import type { RowDataPacket } from "mysql2";
import type { SyncError } from "../../core/errors.ts";
import type { TenantRow } from "../../core/tenant.ts";
import type { BucketSum, SourceRole, TenantSnapshot } from "../../ports/tenant-source.ts";
import { cellsOf, type DescribedRows } from "../sql/described-rows.ts";
import { type SourceOptions, whereAll } from "../sql/source-query.ts";
import type { ReadingSession } from "./reading-session.ts";
import { sourceRole } from "./source-role.ts";

const BATCH = 2_000;

/** Bucket and digest, the columns as text, and 1 or 0 for a removed row where rows can say so. */
type RawRow = readonly [bucket: number, digest: string, ...cells: (string | number | null)[]];

/** Reads the tenants in the one transaction that its connection is in. */
export class MysqlTenantSnapshot implements TenantSnapshot {
  readonly table: string | null;
  readonly #session: ReadingSession;
  readonly #rows: DescribedRows;
  readonly #options: SourceOptions;
  readonly #explain: (error: unknown) => SyncError;

  constructor(
    table: string | null,
    session: ReadingSession,
    rows: DescribedRows,
    options: SourceOptions,
    explain: (error: unknown) => SyncError,
  ) {
    this.table = table;
    this.#session = session;
    this.#options = options;
    this.#rows = rows;
    this.#explain = explain;
  }

  async buckets(): Promise<readonly BucketSum[]> {
    const { relation, conditions, removed, bucket, digest } = this.#rows;
    const active = removed === undefined ? conditions : [...conditions, `NOT ${removed}`];
    try {
      const [rows] = await this.#session.query<BucketSum & RowDataPacket>(
        // By its place: a name could be one of the customer's columns.
        `SELECT ${bucket} AS bucket, COUNT(*) AS \`rows\`, CAST(SUM(CAST(${digest} AS SIGNED)) AS CHAR) AS sum
         FROM ${relation} ${whereAll(active)} GROUP BY 1`,
      );
      return rows;
    } catch (error) {
      throw this.#explain(error);
    }
  }

  async *rows(buckets?: readonly number[]): AsyncGenerator<readonly TenantRow[]> {
    const { relation, conditions, removed, selected, order, bucket, digest } = this.#rows;
    const wanted = buckets ? [...conditions, `${bucket} IN (${[-1, ...buckets].join(", ")})`] : conditions;
    const flag = removed === undefined ? [] : [removed];
    const sql = `SELECT ${[bucket, digest, ...selected, ...flag].join(", ")}
      FROM ${relation} ${whereAll(wanted)} ORDER BY ${order}`;
    try {
      const query = { sql, rowsAsArray: true };
      for await (const batch of this.#session.batches<RawRow>(query, BATCH)) {
        yield batch.map((row) => this.#tenantRow(row));
      }
    } catch (error) {
      throw this.#explain(error);
    }
  }

  async role(): Promise<SourceRole> {
    try {
      return await sourceRole(this.#session, this.#options);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Ends the transaction with the connection: there is nothing to commit. */
  close(): Promise<void> {
    return this.#session.close();
  }

  #tenantRow([bucket, digest, ...cells]: RawRow): TenantRow {
    const { parsers } = this.#rows;
    return {
      cells: cellsOf(cells, parsers),
      digest: { bucket, digest },
      removed: cells[parsers.length] === 1,
    };
  }
}
