import type { SyncError } from "../../core/errors.ts";
import type { TenantRow } from "../../core/tenant.ts";
import type { BucketSum, SourceRole, TenantSnapshot } from "../../ports/tenant-source.ts";
import { cellsOf, type DescribedRows, type Parse } from "../sql/described-rows.ts";
import { type SourceOptions, whereAll } from "../sql/source-query.ts";
import type { ReadingSession } from "./reading-session.ts";
import { sourceRole } from "./source-role.ts";

const BATCH = 2_000;

type RawRow = readonly (string | null)[];

/** Reads the tenants in the one transaction that its connection is in. */
export class PostgresTenantSnapshot implements TenantSnapshot {
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
      const { rows } = await this.#session.query<BucketSum>(
        `SELECT (${bucket})::pg_catalog.int4 AS bucket, pg_catalog.count(*)::pg_catalog.int4 AS rows,
           pg_catalog.sum(${digest})::pg_catalog.text AS sum
         FROM ${relation} ${whereAll(active)} GROUP BY 1`,
      );
      return rows;
    } catch (error) {
      throw this.#explain(error);
    }
  }

  async *rows(buckets?: readonly number[]): AsyncGenerator<readonly TenantRow[]> {
    const { relation, conditions, removed, selected, parsers, order, bucket, digest } = this.#rows;
    const wanted = buckets
      ? [...conditions, `${bucket} OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[])`]
      : conditions;
    const flag = removed === undefined ? [] : [removed];
    const text = `SELECT ${[bucket, digest, ...selected, ...flag].join(", ")}
      FROM ${relation} ${whereAll(wanted)} ORDER BY ${order}`;
    const types = { getTypeParser: () => keepText };
    try {
      const config = { rowMode: "array", types } as const;
      const values = buckets ? [buckets] : [];
      const batches = this.#session.batches<(string | null)[]>(text, values, config, BATCH);
      for await (const batch of batches) yield batch.map((row) => tenantRow(row, parsers));
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
}

const keepText = (text: string): string => text;

function tenantRow([bucket, digest, ...cells]: RawRow, parsers: readonly Parse[]): TenantRow {
  return {
    cells: cellsOf(cells, parsers),
    digest: { bucket: Number(bucket), digest: digest ?? "" },
    // Behind the columns, and only where rows can say so.
    removed: cells[parsers.length] === "t",
  };
}
