import { SyncError } from "../../core/failure/sync-error.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";

/**
 * The source for readers whom nobody vouches for: it looks a tenant up only if an index finds the tenant. Without an
 * index each lookup would read the whole source. `lookups` rejects with LOOKUPS_NOT_INDEXED then.
 */
export const indexedOnly = (source: TenantSource): TenantSource => ({
  open: (...request) => source.open(...request),
  lookups: async (...request) => {
    const lookups = await source.lookups(...request);
    if (lookups.isIndexed) return lookups;
    await lookups.close();
    throw new SyncError(
      "LOOKUPS_NOT_INDEXED",
      "the database would read the whole source to find one tenant, so the page doesn't ask it",
      {
        hint: "create an index on the column of group.id (see docs/new-tenants.md), or run groupsync explain",
      },
    );
  },
});
