import type { Held } from "../core/clearance.ts";
import type { Hold } from "../core/hold.ts";
import { type Counts, type Failure, noCounts } from "../core/outcome.ts";
import type { Refusals } from "../core/refusals.ts";
import type { CopiesFailure } from "../core/token-copies.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import type { Breaker } from "./breaker.ts";
import type { HeldLease } from "./lease.ts";
import type { RecentCommits } from "./recent-commits.ts";
import type { Retries } from "./retries.ts";
import type { ServiceIdentity } from "./service-identity.ts";
import type { Throttle } from "./throttle.ts";
import type { TokenOwners } from "./token-owners.ts";

/** What the service can be asked for. */
export type Operation = "GET" | "POST" | "DELETE";

/** What every step of one run shares. */
export interface Run {
  readonly service: GroupService;
  readonly tokens: TokenStore;
  readonly owners: TokenOwners;
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
  readonly refusals: Refusals;
  readonly recent: RecentCommits;
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

interface Reported {
  readonly error: ReportedError;
  /** The group that has failed; null where it is another kind of error. */
  readonly failing: string | null;
}

/** What the run has done so far. */
export class Tally {
  readonly counts: Counts = noCounts();
  requests = 0;
  /** Why deletions were held back. */
  hold: ReportedHold | undefined;
  readonly #reported: Reported[] = [];
  /** How often each group has failed that has. */
  readonly #failing = new Map<string, number>();

  /** In the order in which they came. Of a group that has failed there is one, with all that there is to say of it. */
  get errors(): readonly ReportedError[] {
    const merged = new Map<string | symbol, ReportedError>();
    for (const { error, failing } of this.#reported) {
      const key = failing ?? Symbol();
      const first = merged.get(key);
      if (first === undefined) merged.set(key, error);
      else if (!first.message.includes(error.message))
        merged.set(key, { ...first, message: `${first.message}; ${error.message}` });
    }
    return [...merged.values()];
  }

  report(user_group_id: string | null, failure: Failure): void {
    this.#report(user_group_id, failure, null);
  }

  /** A group counts once, however much of it has failed. */
  failed(user_group_id: string, failure: Failure): void {
    const times = this.#failing.get(user_group_id) ?? 0;
    this.#failing.set(user_group_id, times + 1);
    if (times === 0) this.counts.failed++;
    this.#report(user_group_id, failure, user_group_id);
  }

  /** Counts what a part of the run has done. */
  add({ counts, requests }: Pick<Tally, "counts" | "requests">): void {
    for (const name of Object.keys(counts) as (keyof Counts)[]) this.counts[name] += counts[name];
    this.requests += requests;
  }

  /** What failed last of this group is done after all. */
  madeGood(user_group_id: string): void {
    const times = this.#failing.get(user_group_id) ?? 0;
    if (times > 1) this.#failing.set(user_group_id, times - 1);
    else if (this.#failing.delete(user_group_id)) this.counts.failed--;
    const last = this.#reported.findLastIndex(({ failing }) => failing === user_group_id);
    if (last >= 0) this.#reported.splice(last, 1);
  }

  /** It failed before, and its next try isn't due. */
  waits(user_group_id: string, { code, message, retryAt }: Omit<CopiesFailure, "count">): void {
    this.failed(user_group_id, { code, message: `${message} (next try after ${retryAt.toISOString()})` });
  }

  #report(user_group_id: string | null, { code, message }: Failure, failing: string | null): void {
    if (this.#reported.length >= MAX_REPORTED) return;
    this.#reported.push({ error: { user_group_id, code, message }, failing });
  }
}
