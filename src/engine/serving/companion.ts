import type { Applying } from "../apply/apply-changes.ts";
import type { TenantTurns } from "../lease/tenant-turns.ts";

/** A run in which single tenants can be served. */
export interface ServingRun extends Applying {
  readonly turns: TenantTurns;
  /** Ends the run, and the work beside it, with this error: nothing more can be done. */
  readonly fail: (error: unknown) => void;
}

/** Work that goes on beside a run, and after it as long as this process keeps the lease. */
export interface Companion {
  /**
   * Is called once the run is open. The run goes on when it resolves, to what waits for the end of the work. The work ends
   * soon after `until` aborts.
   */
  begin(run: ServingRun, until: AbortSignal): Promise<() => Promise<void>>;
  /** Tries a tenant again whose call has failed, so that the run needn't wait for it. */
  retry(user_group_id: string): void;
}
