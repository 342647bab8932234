import type { TenantRow } from "../core/tenant.ts";

/** The customer's database. */
export interface TenantSource {
  /**
   * All tenant rows of one read-only snapshot, in batches, ordered by the UTF-8 bytes of the id.
   * Each row holds the asked-for columns in order, the id first. The snapshot is closed when the
   * iteration ends, however it ends. Rejects with SOURCE_UNAVAILABLE, or with a CONFIG_… code
   * where the config names what the database doesn't have.
   */
  rows(columns: readonly string[]): AsyncIterable<readonly TenantRow[]>;
}
