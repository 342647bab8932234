import type { SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceBucket, TenantRow } from "../../../core/group/tenant.ts";
import type { SourceRole, TenantSnapshot } from "../../../ports/tenant-source.ts";
import type { SourceSession } from "./source-session.ts";
import { rowsOf } from "./tenant-look-ups.ts";
import { type RawRow, selectBuckets, selectRows, type TenantQuery, tenantRow } from "./tenant-query.ts";

const BATCH = 2_000;

interface SnapshotParts {
  readonly table: string | null;
  readonly session: SourceSession;
  readonly query: TenantQuery;
  readonly isIndexed: () => Promise<boolean>;
  readonly role: () => Promise<SourceRole>;
  /** Turns what the driver threw into an error for the operator. */
  readonly explain: (error: unknown) => SyncError;
}

/** Reads the tenants in its session's one transaction. */
export class SqlTenantSnapshot implements TenantSnapshot {
  readonly table: string | null;
  readonly #parts: SnapshotParts;

  constructor(parts: SnapshotParts) {
    this.table = parts.table;
    this.#parts = parts;
  }

  buckets(): Promise<readonly SourceBucket[]> {
    const { session, query } = this.#parts;
    return this.#explained(session.query<SourceBucket>(selectBuckets(query)));
  }

  async *rows(buckets?: readonly number[]): AsyncGenerator<readonly TenantRow[]> {
    const { session, query, explain } = this.#parts;
    try {
      for await (const batch of session.batches<RawRow>(selectRows(query, buckets), BATCH)) {
        yield batch.map((row) => tenantRow(query, row));
      }
    } catch (error) {
      throw explain(error);
    }
  }

  isIndexed(): Promise<boolean> {
    return this.#explained(this.#parts.isIndexed());
  }

  rowsOf(ids: readonly string[]): Promise<readonly TenantRow[]> {
    const { session, query } = this.#parts;
    return this.#explained(rowsOf(session, query, ids));
  }

  role(): Promise<SourceRole> {
    return this.#explained(this.#parts.role());
  }

  close(): Promise<void> {
    return this.#parts.session.close();
  }

  async #explained<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw this.#parts.explain(error);
    }
  }
}
