import type { SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceBucket, TenantRow } from "../../../core/group/tenant.ts";
import type {
  SourceRole,
  TenantLookUps,
  TenantSnapshot,
  TenantSource,
} from "../../../ports/tenant-source.ts";
import { explainer, openReader, type SourceDialect, type SourceSession } from "./open-reader.ts";
import type { SourceOptions } from "./source-request.ts";
import { type LookUpReader, rowsOf, SqlTenantLookUps } from "./tenant-look-ups.ts";
import { type RawRow, selectBuckets, selectRows, type TenantQuery, tenantRow } from "./tenant-query.ts";

/** Opens snapshots and look-ups of the tenants, each over a connection of its own. */
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
    const { session, table, query, explain } = await openReader(this.#dialect, this.#options, asked, before);
    const isIndexed = () => this.#dialect.isIndexed(session, query);
    const role = () => this.#dialect.role(session, this.#options);
    return new SqlTenantSnapshot({ table, session, query, isIndexed, role, explain });
  }

  async lookUps(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantLookUps> {
    const asked = { columns, seed, stop };
    const explain = explainer(this.#dialect, this.#options, asked);
    const open = async (known: string | null | undefined): Promise<LookUpReader> => {
      const reader = await openReader(this.#dialect, this.#options, asked, known);
      const { session, query } = reader;
      try {
        const described = await session.describe(query.columns);
        const isIndexed = await this.#dialect.isIndexed(session, query);
        await session.commit();
        return { ...reader, columns: described, isIndexed };
      } catch (error) {
        await session.close();
        throw explain(error);
      }
    };
    return SqlTenantLookUps.open({ open, explain }, before);
  }
}

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
class SqlTenantSnapshot implements TenantSnapshot {
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
