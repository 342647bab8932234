import type { Way } from "../../core/changes/notice.ts";
import type { NoticingState } from "../changes/noticing.ts";
import type { WayError, WayState } from "../changes/way-state.ts";

/** How the daemon serves single tenants between two full syncs. Contains no secret. */
export interface ServingState extends ServingNow {
  readonly served: ServedCount;
}

export interface ServingNow {
  /** The ways in which the daemon notices changed tenants; null for each that the config doesn't name. */
  readonly ways: NoticingState;
  /** Whether applications can ask for a tenant with POST /sync/{user_group_id}. */
  readonly takesRequests: boolean;
  /** For how long the tenant has waited that has waited for longest, in milliseconds; 0 if none waits. */
  readonly oldestMs: number;
  /** How many tenants wait for another try, because the last one failed. The ledger was read before some of them. */
  readonly failing: number;
}

/** Tenants that this process has served singly, without those about which nothing was to be done. */
export interface ServedCount {
  readonly count: number;
  /** The last one, and how long after its notice its token was stored, in milliseconds. */
  readonly last: { readonly at: Date; readonly ms: number } | null;
}

export interface NamedWay {
  readonly way: Way;
  /** The key in the config. */
  readonly key: string;
  readonly state: WayState;
}

export interface BrokenWay extends NamedWay {
  readonly state: { readonly kind: "broken"; readonly since: Date; readonly error: WayError };
}

const WAYS: readonly Way[] = ["column", "channel"];

/** The ways that the config names. */
export const waysOf = (serving: ServingNow | null): readonly NamedWay[] =>
  WAYS.flatMap((way) => {
    const state = serving?.ways[way];
    return state ? [{ way, key: `source.changes.${way}`, state }] : [];
  });

/** The ways that don't work. What they would notice waits for the next full sync. */
export const brokenWaysOf = (serving: ServingNow | null): readonly BrokenWay[] =>
  waysOf(serving).filter((named): named is BrokenWay => named.state.kind === "broken");
