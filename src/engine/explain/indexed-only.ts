import { SyncError } from "../../core/failure/sync-error.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";

/**
 * The source for readers whom nobody vouches for: it looks a tenant up only if an index finds the tenant. Without an
 * index each look would read the whole source. `lookUps` rejects with LOOKS_NOT_INDEXED then.
 */
export const indexedOnly = (source: TenantSource): TenantSource => ({
  open: (...request) => source.open(...request),
  lookUps: async (...request) => {
    const lookUps = await source.lookUps(...request);
    if (lookUps.isIndexed) return lookUps;
    await lookUps.close();
    throw new SyncError(
      "LOOKS_NOT_INDEXED",
      "the database would read the whole source to find one tenant, so the page doesn't ask it",
      {
        hint: "create an index on the column of group.id (see docs/new-tenants.md), or run groupsync explain",
      },
    );
  },
});
