import type { SourceBucket, TenantRow } from "../../../core/group/tenant.ts";
import type {
  SourceRole,
  TenantLookups,
  TenantSnapshot,
  TenantSource,
} from "../../../ports/tenant-source.ts";
import { type Asked, type OpenReader, openReader } from "./open-reader.ts";
import type { SourceDialect, SourceOptions } from "./source-dialect.ts";
import { type LookupReader, rowsOf, SqlTenantLookups } from "./tenant-lookups.ts";
import { type RawRow, selectBuckets, selectRows, tenantRow } from "./tenant-query.ts";

/** Opens snapshots and lookups of the tenants, each over a connection of its own. */
export class SqlTenantSource implements TenantSource {
  readonly #dialect: SourceDialect;
  readonly #options: SourceOptions;

  constructor(dialect: SourceDialect, options: SourceOptions) {
    this.#dialect = dialect;
    this.#options = options;
  }

  async open(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantSnapshot> {
    const asked = { columns, seed, stop };
    const reader = await openReader(this.#dialect, this.#options, asked, before);
    return new SqlTenantSnapshot(this.#dialect, this.#options, reader);
  }

  async lookups(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantLookups> {
    const asked = { columns, seed, stop };
    const open = (known: string | null | undefined) => this.#openLookups(asked, known);
    return new SqlTenantLookups(open, await open(before));
  }

  async #openLookups(asked: Asked, before: string | null | undefined): Promise<LookupReader> {
    const reader = await openReader(this.#dialect, this.#options, asked, before);
    const { session, query, explain } = reader;
    try {
      const columns = await session.describe(query.columns);
      const isIndexed = await this.#dialect.isIndexed(session, query);
      await session.commit();
      return { ...reader, columns, isIndexed };
    } catch (error) {
      await session.close();
      throw explain(error);
    }
  }
}

const BATCH = 2_000;

/** Reads the tenants in its session's one transaction. */
class SqlTenantSnapshot implements TenantSnapshot {
  readonly table: string | null;
  readonly #dialect: SourceDialect;
  readonly #options: SourceOptions;
  readonly #reader: OpenReader;

  constructor(dialect: SourceDialect, options: SourceOptions, reader: OpenReader) {
    this.table = reader.table;
    this.#dialect = dialect;
    this.#options = options;
    this.#reader = reader;
  }

  buckets(): Promise<readonly SourceBucket[]> {
    const { session, query } = this.#reader;
    return this.#explained(session.query<SourceBucket>(selectBuckets(query)));
  }

  async *rows(buckets?: readonly number[]): AsyncGenerator<readonly TenantRow[]> {
    const { session, query, explain } = this.#reader;
    try {
      for await (const batch of session.batches<RawRow>(selectRows(query, buckets), BATCH)) {
        yield batch.map((row) => tenantRow(query, row));
      }
    } catch (error) {
      throw explain(error);
    }
  }

  isIndexed(): Promise<boolean> {
    const { session, query } = this.#reader;
    return this.#explained(this.#dialect.isIndexed(session, query));
  }

  rowsOf(ids: readonly string[]): Promise<readonly TenantRow[]> {
    const { session, query } = this.#reader;
    return this.#explained(rowsOf(session, query, ids));
  }

  role(): Promise<SourceRole> {
    return this.#explained(this.#dialect.role(this.#reader.session, this.#options));
  }

  close(): Promise<void> {
    return this.#reader.session.close();
  }

  async #explained<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw this.#reader.explain(error);
    }
  }
}
