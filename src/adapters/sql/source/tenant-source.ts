import type { SourceBucket } from "../../../core/group/tenant.ts";
import type { TenantSnapshot, TenantSource } from "../../../ports/tenant-source.ts";
import { type Asked, type OpenReader, openReader } from "./open-reader.ts";
import type { SourceDialect, SourceOptions } from "./source-dialect.ts";
import { type LookupReader, rowsOf, tenantLookups } from "./tenant-lookups.ts";
import { type RawRow, selectBuckets, selectRows, tenantRow } from "./tenant-query.ts";

/** Opens snapshots and lookups of the tenants, each over a connection of its own. */
export const sqlTenantSource = (dialect: SourceDialect, options: SourceOptions): TenantSource => ({
  async open(columns, seed, stop, before) {
    return snapshotBy(dialect, options, await openReader(dialect, options, { columns, seed, stop }, before));
  },
  async lookups(columns, seed, stop, before) {
    const asked = { columns, seed, stop };
    const open = (known: string | null | undefined) => openLookups(dialect, options, asked, known);
    return tenantLookups(open, await open(before));
  },
});

async function openLookups(
  dialect: SourceDialect,
  options: SourceOptions,
  asked: Asked,
  before: string | null | undefined,
): Promise<LookupReader> {
  const reader = await openReader(dialect, options, asked, before);
  const { session, query, explain } = reader;
  try {
    const columns = await session.describe(query.columns);
    const isIndexed = await dialect.isIndexed(session, query);
    await session.commit();
    return { ...reader, columns, isIndexed };
  } catch (error) {
    await session.close();
    throw explain(error);
  }
}

const BATCH = 2_000;

/** Reads the tenants in its session's one transaction. */
function snapshotBy(
  dialect: SourceDialect,
  options: SourceOptions,
  { session, query, table, explain }: OpenReader,
): TenantSnapshot {
  const explained = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      throw explain(error);
    });
  return {
    table,
    buckets: () => explained(session.query<SourceBucket>(selectBuckets(query))),
    async *rows(buckets) {
      try {
        for await (const batch of session.batches<RawRow>(selectRows(query, buckets), BATCH)) {
          yield batch.map((row) => tenantRow(query, row));
        }
      } catch (error) {
        throw explain(error);
      }
    },
    isIndexed: () => explained(dialect.isIndexed(session, query)),
    rowsOf: (ids) => explained(rowsOf(session, query, ids)),
    role: () => explained(dialect.role(session, options)),
    close: () => session.close(),
  };
}
