import { interrupted, type SyncError } from "../../../core/failure/sync-error.ts";
import { compareIds, type TenantRow } from "../../../core/group/tenant.ts";
import type { TenantLookUps } from "../../../ports/tenant-source.ts";
import { LONG_READ, STEP } from "../connection/wait-limits.ts";
import type { SourceSession } from "./open-reader.ts";
import { type RawRow, selectRowsOf, type TenantQuery, tenantRow } from "./tenant-query.ts";

/**
 * A look may read other tables whole that have no more rows: a list of plans that the config's query joins, for example.
 */
export const FEW_ROWS = 10_000;

/** Ids in one statement. */
const PAGE = 500;

/** A connection that knows the source's columns, and has no transaction open. */
export interface LookUpReader {
  readonly session: SourceSession;
  readonly table: string | null;
  readonly query: TenantQuery;
  /** The columns that the query was made for, as `SourceSession.describe` describes them. */
  readonly columns: string;
  readonly isIndexed: boolean;
}

interface LookUpParts {
  /** Rejects with CONFIG_TABLE_MOVED if the config leads to another table than `before`. */
  readonly open: (before: string | null | undefined) => Promise<LookUpReader>;
  /** Turns what the driver threw into an error for the operator. */
  readonly explain: (error: unknown) => SyncError;
}

/** Looks tenants up by their ids. Each look is a transaction of its own. */
export class SqlTenantLookUps implements TenantLookUps {
  readonly #parts: LookUpParts;
  #reader: LookUpReader;
  #lastLook: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(parts: LookUpParts, reader: LookUpReader) {
    this.#parts = parts;
    this.#reader = reader;
  }

  static async open(parts: LookUpParts, before: string | null | undefined): Promise<SqlTenantLookUps> {
    return new SqlTenantLookUps(parts, await parts.open(before));
  }

  get table(): string | null {
    return this.#reader.table;
  }

  get isIndexed(): boolean {
    return this.#reader.isIndexed;
  }

  rowsOf(ids: readonly string[]): Promise<readonly TenantRow[]> {
    const look = this.#lastLook.then(() => this.#look(ids));
    this.#lastLook = look.catch(() => {});
    return look;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reader.session.close();
  }

  async #look(ids: readonly string[]): Promise<readonly TenantRow[]> {
    if (this.#isClosed) throw interrupted();
    try {
      const { session, query, isIndexed } = await this.#begin();
      // Without an index, the look may take as long as a read of all rows.
      const rows = await rowsOf(session, query, ids, isIndexed ? STEP : LONG_READ);
      await session.commit();
      return rows;
    } catch (error) {
      // The next look opens another connection.
      await this.#reader.session.close();
      throw this.#isClosed ? interrupted() : this.#parts.explain(error);
    }
  }

  /** Undefined if one of the columns is gone. */
  #describe({ session, query }: LookUpReader): Promise<string | undefined> {
    return session.describe(query.columns).catch((error: unknown) => {
      if (this.#parts.explain(error).code === "CONFIG_SOURCE") return undefined;
      throw error;
    });
  }

  /** Begins a look. Looks the columns up again if the connection broke or the table was altered. */
  async #begin(): Promise<LookUpReader> {
    const { session, columns, table } = this.#reader;
    if (session.isOpen) {
      await session.begin();
      if ((await this.#describe(this.#reader)) === columns) return this.#reader;
      await session.close();
    }
    this.#reader = await this.#parts.open(table);
    if (this.#isClosed) throw interrupted();
    await this.#reader.session.begin();
    return this.#reader;
  }
}

/** The rows of these ids, as `TenantLookUps.rowsOf` gives them, in the session's present transaction. */
export async function rowsOf(
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
