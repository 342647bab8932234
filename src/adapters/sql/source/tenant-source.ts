import { interrupted } from "../../../core/failure/sync-error.ts";
import { compareIds, type SourceBucket, type TenantRow } from "../../../core/group/tenant.ts";
import type {
  SourceRole,
  TenantLookups,
  TenantSnapshot,
  TenantSource,
} from "../../../ports/tenant-source.ts";
import { LONG_READ, STEP } from "../connection/wait-limits.ts";
import {
  type Asked,
  type OpenReader,
  openReader,
  type SourceDialect,
  type SourceOptions,
  type SourceSession,
} from "./open-reader.ts";
import {
  type RawRow,
  selectBuckets,
  selectRows,
  selectRowsOf,
  type TenantQuery,
  tenantRow,
} from "./tenant-query.ts";

/** Opens snapshots and lookups of the tenants, each over a connection of its own. */
export class SqlTenantSource<Session extends SourceSession> implements TenantSource {
  readonly #dialect: SourceDialect<Session>;
  readonly #options: SourceOptions;

  constructor(dialect: SourceDialect<Session>, options: SourceOptions) {
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

  lookups(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantLookups> {
    const asked = { columns, seed, stop };
    return SqlTenantLookups.open((known) => this.#openLookups(asked, known), before);
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
class SqlTenantSnapshot<Session extends SourceSession> implements TenantSnapshot {
  readonly table: string | null;
  readonly #dialect: SourceDialect<Session>;
  readonly #options: SourceOptions;
  readonly #reader: OpenReader<Session>;

  constructor(dialect: SourceDialect<Session>, options: SourceOptions, reader: OpenReader<Session>) {
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

/** A connection that knows the source's columns, and has no transaction open. */
interface LookupReader extends OpenReader<SourceSession> {
  /** The columns that the query was made for, as `SourceSession.describe` describes them. */
  readonly columns: string;
  readonly isIndexed: boolean;
}

/** Rejects with CONFIG_TABLE_MOVED if the config leads to another table than `before`. */
type OpenLookups = (before: string | null | undefined) => Promise<LookupReader>;

/** Looks tenants up by their ids. Each lookup is a transaction of its own. */
class SqlTenantLookups implements TenantLookups {
  readonly #open: OpenLookups;
  #reader: LookupReader;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(open: OpenLookups, reader: LookupReader) {
    this.#open = open;
    this.#reader = reader;
  }

  static async open(open: OpenLookups, before: string | null | undefined): Promise<SqlTenantLookups> {
    return new SqlTenantLookups(open, await open(before));
  }

  get table(): string | null {
    return this.#reader.table;
  }

  get isIndexed(): boolean {
    return this.#reader.isIndexed;
  }

  rowsOf(ids: readonly string[]): Promise<readonly TenantRow[]> {
    const found = this.#last.then(() => this.#rowsOf(ids));
    this.#last = found.catch(() => {});
    return found;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reader.session.close();
  }

  async #rowsOf(ids: readonly string[]): Promise<readonly TenantRow[]> {
    if (this.#isClosed) throw interrupted();
    try {
      const { session, query, isIndexed } = await this.#begin();
      // Without an index, the lookup may take as long as a read of all rows.
      const rows = await rowsOf(session, query, ids, isIndexed ? STEP : LONG_READ);
      await session.commit();
      return rows;
    } catch (error) {
      // The next lookup opens another connection.
      await this.#reader.session.close();
      throw this.#isClosed ? interrupted() : this.#reader.explain(error);
    }
  }

  /** Undefined if one of the columns is gone. */
  #describe({ session, query, explain }: LookupReader): Promise<string | undefined> {
    return session.describe(query.columns).catch((error: unknown) => {
      if (explain(error).code === "CONFIG_SOURCE") return undefined;
      throw error;
    });
  }

  /** Begins a lookup. Finds out the columns again if the connection broke or the table was altered. */
  async #begin(): Promise<LookupReader> {
    const { session, columns, table } = this.#reader;
    if (session.isOpen) {
      await session.begin();
      if ((await this.#describe(this.#reader)) === columns) return this.#reader;
      await session.close();
    }
    this.#reader = await this.#open(table);
    if (this.#isClosed) throw interrupted();
    await this.#reader.session.begin();
    return this.#reader;
  }
}

/** Ids in one statement. */
const PAGE = 500;

/** The rows of these ids, as `TenantLookups.rowsOf` gives them, in the session's present transaction. */
async function rowsOf(
  session: Pick<SourceSession, "rows">,
  query: TenantQuery,
  ids: readonly string[],
  limits = STEP,
): Promise<readonly TenantRow[]> {
  const held = await query.idsHeld([...new Set(ids)].sort(compareIds));
  const found: TenantRow[] = [];
  for (let from = 0; from < held.length; from += PAGE) {
    const page = new Set(held.slice(from, from + PAGE));
    const rows = await session.rows<RawRow>(selectRowsOf(query, [...page]), limits);
    // The column may take other ids for the same: by a collation that ignores case, or blanks at the end.
    for (const row of rows) if (page.has(row[2] as string)) found.push(tenantRow(query, row));
  }
  return found;
}
