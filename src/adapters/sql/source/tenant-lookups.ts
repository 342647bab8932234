import { interrupted } from "../../../core/failure/sync-error.ts";
import { compareIds, type TenantRow } from "../../../core/group/tenant.ts";
import type { TenantLookups } from "../../../ports/tenant-source.ts";
import { LONG_READ, STEP } from "../connection/wait-limits.ts";
import type { OpenReader } from "./open-reader.ts";
import type { SourceSession } from "./source-dialect.ts";
import { type RawRow, selectRowsOf, type TenantQuery, tenantRow } from "./tenant-query.ts";

/** A connection that knows the source's columns, and has no transaction open. */
export interface LookupReader extends OpenReader {
  /** The columns that the query was made for, as `SourceSession.describe` describes them. */
  readonly columns: string;
  readonly isIndexed: boolean;
}

/** Rejects with CONFIG_TABLE_MOVED if the config leads to another table than `before`. */
type OpenLookups = (before: string | null | undefined) => Promise<LookupReader>;

/** Looks tenants up by their ids. Each lookup is a transaction of its own. `first`: the reader that `open` has opened already. */
export function tenantLookups(open: OpenLookups, first: LookupReader): TenantLookups {
  let reader = first;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  async function lookUp(ids: readonly string[]): Promise<readonly TenantRow[]> {
    if (isClosed) throw interrupted();
    try {
      const { session, query, isIndexed } = await begin();
      // Without an index, the lookup may take as long as a read of all rows.
      const rows = await rowsOf(session, query, ids, isIndexed ? STEP : LONG_READ);
      await session.commit();
      return rows;
    } catch (error) {
      // The next lookup opens another connection.
      await reader.session.close();
      throw isClosed ? interrupted() : reader.explain(error);
    }
  }

  /** Undefined if one of the columns is gone. */
  function describe({ session, query, explain }: LookupReader): Promise<string | undefined> {
    return session.describe(query.columns).catch((error: unknown) => {
      if (explain(error).code === "CONFIG_SOURCE") return undefined;
      throw error;
    });
  }

  /** Begins a lookup. Finds out the columns again if the connection broke or the table was altered. */
  async function begin(): Promise<LookupReader> {
    const { session, columns, table } = reader;
    if (session.isOpen) {
      await session.begin();
      if ((await describe(reader)) === columns) return reader;
      await session.close();
    }
    reader = await open(table);
    if (isClosed) throw interrupted();
    await reader.session.begin();
    return reader;
  }

  return {
    get table() {
      return reader.table;
    },
    get isIndexed() {
      return reader.isIndexed;
    },
    rowsOf(ids) {
      const found = last.then(() => lookUp(ids));
      last = found.catch(() => {});
      return found;
    },
    async close() {
      isClosed = true;
      await reader.session.close();
    },
  };
}

/** The rows of these ids, as `TenantLookups.rowsOf` gives them, in the session's present transaction. */
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

/** Ids in one statement. */
export const PAGE = 500;
