import type { Served } from "../../src/ports/serve-tenant.ts";
import type { Row, SimulatedConfig } from "./history.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import { isRejected, outOfSync } from "./sync-checks.ts";

/** Why none of the rows that a tenant has had since somebody asked for it explains this answer; undefined if one does. */
export function complaintOn(
  id: string,
  served: Served,
  rows: readonly (Row | undefined)[],
  config: SimulatedConfig,
  world: SimulatedWorld,
): string | undefined {
  switch (served.kind) {
    case "done": {
      const complaints = rows.map((row) => (row ? outOfSync([[id, row]], config, world) : []));
      return complaints.every((some) => some.length > 0) ? complaints.at(-1)?.[0] : undefined;
    }
    case "unknown":
      return rows.every((row) => row?.kind === "active") ? "it was there all the time" : undefined;
    case "conflict":
      return served.outcome === "rejected" && !rows.some((row) => row && isRejected(row))
        ? "its row was never rejected"
        : undefined;
    case "pending":
    case "failed":
      return undefined;
  }
}
