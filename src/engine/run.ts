import type { Held } from "../core/clearance.ts";
import type { Hold } from "../core/hold.ts";
import type { GroupFailure } from "../core/ledger-group.ts";
import { type Counts, type Failure, noCounts } from "../core/outcome.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import type { Breaker } from "./breaker.ts";
import type { HeldLease } from "./lease.ts";
import type { Retries } from "./retries.ts";
import type { ServiceIdentity } from "./service-identity.ts";
import type { Throttle } from "./throttle.ts";

/** What the service can be asked for. */
export type Operation = "GET" | "POST" | "DELETE";

/** What every step of one run shares. */
export interface Run {
  readonly service: GroupService;
  readonly tokens: TokenStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly lease: HeldLease;
  readonly identity: ServiceIdentity;
  readonly throttle: Throttle;
  readonly retries: Retries;
  /** One for each operation: what is good for a GET may fail every POST. */
  readonly breakers: Readonly<Record<Operation, Breaker>>;
  readonly tally: Tally;
  /** Most calls in flight. */
  readonly concurrency: number;
  /** Once it aborts, no new call starts; those under way finish and are recorded. */
  readonly signal: AbortSignal;
}

export interface ReportedError extends Failure {
  readonly user_group_id: string | null;
}

export interface ReportedHold extends Hold {
  /** The first of them. */
  readonly groups: readonly Held[];
}

/** Enough to see what is wrong; the counts tell how often. */
export const MAX_REPORTED = 1_000;

/** What the run has done so far. */
export class Tally {
  readonly counts: Counts = noCounts();
  requests = 0;
  readonly errors: ReportedError[] = [];
  /** Why deletions were held back. */
  hold: ReportedHold | undefined;

  report(user_group_id: string | null, { code, message }: Failure): void {
    if (this.errors.length < MAX_REPORTED) this.errors.push({ user_group_id, code, message });
  }

  failed(user_group_id: string, failure: Failure): void {
    this.counts.failed++;
    this.report(user_group_id, failure);
  }

  /** It failed before, and its next try isn't due. */
  waits(user_group_id: string, { code, message, retryAt }: GroupFailure): void {
    this.failed(user_group_id, { code, message: `${message} (next try after ${retryAt.toISOString()})` });
  }
}
