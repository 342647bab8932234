import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { RunEvent } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";
import type { WayState } from "../changes/way-state.ts";
import { type DaemonState, waysOf } from "../state/state.ts";

/** The ends of tenants that are served singly. */
type End = Extract<Served, { outcome: string }>["outcome"] | "unknown" | "failed";

const ENDS = [
  ...["created", "adopted", "updated", "replaced", "restored", "unchanged"],
  ...["rejected", "held", "waiting", "outdated", "not_ready", "unknown", "failed"],
] as const satisfies readonly End[];

/** The finest are around what is promised: a second for a notice that comes at once. */
const TOKEN_SECONDS = [0.05, 0.1, 0.15, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60, 300];

/** Measures how single tenants are served between two full syncs. */
export class ServingMetrics {
  readonly #served: Counter<"outcome">;
  readonly #seconds: Histogram;

  constructor(registry: Registry, state: () => DaemonState) {
    const registers = [registry];
    this.#served = new Counter({
      name: "groupsync_served_tenants_total",
      help: "Tenants that were looked at singly, by what became of them.",
      labelNames: ["outcome"],
      registers,
    });
    // Begin every series with 0: Prometheus sees no increase in a series that begins with 1.
    for (const outcome of ENDS) this.#served.inc({ outcome }, 0);
    this.#seconds = new Histogram({
      name: "groupsync_notice_to_token_seconds",
      help: "How long after a tenant was noticed its token was stored and its group was as its row says. A look that found nothing to do doesn't count.",
      buckets: TOKEN_SECONDS,
      registers,
    });
    new Gauge({
      name: "groupsync_oldest_unserved_tenant_seconds",
      help: "For how long the noticed tenant waits that has waited for longest; 0 if none waits, none on standby. A tenant whose change fails isn't counted here.",
      registers,
      collect() {
        const { serving, standby } = state();
        // While this instance stands by, another one serves.
        if (serving === null || standby !== null) this.remove();
        else this.set(serving.oldestMs / 1_000);
      },
    });
    new Gauge({
      name: "groupsync_noticing_up",
      help: "1 while tenants are noticed in this way, 0 while they should be, and are not; none while another instance holds the lease.",
      labelNames: ["way"],
      registers,
      collect() {
        this.reset();
        for (const { way, state: wayState } of waysOf(state().serving)) {
          const up = upOf(wayState);
          if (up !== null) this.set({ way }, up);
        }
      },
    });
  }

  observe(event: RunEvent): void {
    if (event.kind !== "served") return;
    const { served, ms } = event;
    if (served.kind === "pending") return;
    const outcome = "outcome" in served ? served.outcome : served.kind;
    this.#served.inc({ outcome });
    if (served.kind === "done" && outcome !== "unchanged") this.#seconds.observe(ms / 1_000);
  }
}

/** Null if nothing has to be noticed: another instance holds the lease. */
function upOf({ kind }: WayState): 0 | 1 | null {
  switch (kind) {
    case "off":
      return null;
    case "alive":
      return 1;
    case "starting":
    case "broken":
      return 0;
  }
}
