import { ServiceFailure, type ServiceFailureCode } from "../../src/core/failure/service-failure.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import type { Point } from "../fakes/instance.ts";
import type { WhichStore } from "./history.ts";

/** A fault of one run. Points are counted from 1. */
export type Fault =
  /** The process is killed. */
  | { readonly kind: "dies"; readonly at: number }
  /** The process is told to stop. */
  | { readonly kind: "is told to stop"; readonly at: number }
  /** The process pauses; if its machine sleeps, the monotonic clock pauses too. */
  | { readonly kind: "pauses"; readonly at: number; readonly ms: number; readonly isAsleep: boolean }
  /** The wall clock is set. */
  | { readonly kind: "clock jumps"; readonly at: number; readonly ms: number }
  /** Calls to a port fail, from the `from`th call on, before or after they take effect. */
  | PortFault
  /** A token store refuses to write (or to remove) this group's token for `ms`. */
  | {
      readonly kind: "refuses" | "keeps";
      readonly store: WhichStore;
      readonly id: string;
      readonly ms: number;
    };

export interface PortFault {
  readonly kind: "fails";
  readonly port: Port;
  /** Which token store, if the port is a store. */
  readonly store: WhichStore;
  readonly when: Point["when"];
  /** The first call that fails. */
  readonly from: number;
  readonly times: number;
  readonly code: string;
}

export type Port = "service" | "store" | "ledger" | "source";

const CALLS: Readonly<Record<string, Port>> = {
  getOrCreate: "service",
  rotate: "service",
  remove: "service",
  getWithWrongKey: "service",
  rotateNobody: "service",
  prepareTokens: "store",
  holdsAny: "store",
  tokenIds: "store",
  tokenOwner: "store",
  claimTokens: "store",
  writeTokens: "store",
  readTokens: "store",
  removeTokens: "store",
  openSource: "source",
  sourceBuckets: "source",
  rows: "source",
  openLookups: "source",
  rowsOf: "source",
};

export const portOf = ({ call }: Point): Port => CALLS[call] ?? "ledger";

/** How a call of the service may fail, before and after it takes effect. */
const SERVICE_CODES = {
  before: [
    "CONNECTION_LOST",
    "TIMEOUT",
    "SERVICE_ERROR",
    "THROTTLED",
    "OVERLOADED",
    "REFUSED",
    "BAD_RESPONSE",
    "UNREACHABLE",
    "KEY_REFUSED",
    "INTERMEDIARY_REFUSED",
  ],
  after: ["CONNECTION_LOST", "TIMEOUT", "SERVICE_ERROR", "OVERLOADED", "BAD_RESPONSE"],
} as const satisfies Record<Point["when"], readonly ServiceFailureCode[]>;

const CODES: Readonly<Record<Exclude<Port, "service">, readonly string[]>> = {
  store: ["TOKEN_STORE_UNAVAILABLE"],
  ledger: ["LEDGER_UNAVAILABLE"],
  source: ["SOURCE_UNAVAILABLE"],
};

export const codesOf = (port: Port, when: Point["when"]): readonly string[] =>
  port === "service" ? SERVICE_CODES[when] : CODES[port];

export function failureOf(port: Port, code: string): SyncError {
  return port === "service"
    ? new ServiceFailure(code as ServiceFailureCode, `the service: ${code}`)
    : new SyncError(code, `the ${port} failed`);
}

interface Poisoning {
  /** How the group's calls fail; left out if only its token can't be stored. */
  readonly fails?: {
    readonly code: ServiceFailureCode;
    readonly when: Point["when"];
    /** Only GETs that send the group in another state than the confirmed one. */
    readonly isOfChanges?: true;
  };
  /** The stores that refuse its token. */
  readonly refusing?: readonly WhichStore[];
}

/** How one group fails for good while all others succeed. */
const POISONS = {
  "is refused": { fails: { code: "REFUSED", when: "before" } },
  "has a change that is refused": { fails: { code: "REFUSED", when: "before", isOfChanges: true } },
  "is refused as if by the key": { fails: { code: "KEY_REFUSED", when: "before" } },
  "is refused by a firewall": { fails: { code: "INTERMEDIARY_REFUSED", when: "after" } },
  "makes the service fail": { fails: { code: "SERVICE_ERROR", when: "before" } },
  "is never answered": { fails: { code: "TIMEOUT", when: "after" } },
  "gets an answer that can't be read": { fails: { code: "BAD_RESPONSE", when: "after" } },
  "is always too many": { fails: { code: "THROTTLED", when: "before" } },
  "always finds the service overloaded": { fails: { code: "OVERLOADED", when: "after" } },
  "has a token that doesn't fit": { refusing: ["first", "last"] },
  "has a token that doesn't fit into the first store": { refusing: ["first"] },
  "has a token that doesn't fit into the last store": { refusing: ["last"] },
} as const satisfies Readonly<Record<string, Poisoning>>;

export type PoisonKind = keyof typeof POISONS;
export const POISON_KINDS = Object.keys(POISONS) as PoisonKind[];
export const poisoning = (kind: PoisonKind): Poisoning => POISONS[kind];
