import { SyncError } from "../../src/core/errors.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/service-failure.ts";
import type { Point } from "../fakes/instance.ts";
import type { WhichStore } from "./history.ts";

/** What goes wrong in one run. Points are counted from 1. */
export type Fault =
  /** The process is killed. */
  | { readonly kind: "dies"; readonly at: number }
  /** It is told to stop. */
  | { readonly kind: "is told to stop"; readonly at: number }
  /** It stands still; where its machine sleeps, its monotonic clock stands still with it. */
  | { readonly kind: "pauses"; readonly at: number; readonly ms: number; readonly isAsleep: boolean }
  /** The clock on the wall is set. */
  | { readonly kind: "clock jumps"; readonly at: number; readonly ms: number }
  /** Calls to a port fail, from one of them on, before or after they took effect. */
  | PortFault
  /** A token store takes, or gives up, no token of this group for so long. */
  | {
      readonly kind: "refuses" | "keeps";
      readonly store: WhichStore;
      readonly id: string;
      readonly ms: number;
    };

export interface PortFault {
  readonly kind: "fails";
  readonly port: Port;
  /** Of the token stores. */
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
};

export const portOf = ({ call }: Point): Port => CALLS[call] ?? "ledger";

/** How a call of the service may fail, where it took no effect and where it did. */
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
  store: ["TOKEN_STORE_UNAVAILABLE", "TOKEN_STORE_BUSY"],
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

/** How one group fails for good, while all others are fine. */
export const POISON_KINDS = [
  "is refused",
  "makes the service fail",
  "is never answered",
  "gets an answer that can't be read",
  "is always too many",
  "always finds the service overloaded",
  "has a token that doesn't fit",
  "has a token that doesn't fit into the first store",
  "has a token that doesn't fit into the last store",
] as const;

export type PoisonKind = (typeof POISON_KINDS)[number];

/** The failure of a poisoned group's calls, and where; undefined where it is its token alone that fails. */
export function poisonous(
  kind: PoisonKind,
): { readonly code: ServiceFailureCode; readonly when: Point["when"] } | undefined {
  switch (kind) {
    case "is refused":
      return { code: "REFUSED", when: "before" };
    case "makes the service fail":
      return { code: "SERVICE_ERROR", when: "before" };
    case "is never answered":
      return { code: "TIMEOUT", when: "after" };
    case "gets an answer that can't be read":
      return { code: "BAD_RESPONSE", when: "after" };
    case "is always too many":
      return { code: "THROTTLED", when: "before" };
    case "always finds the service overloaded":
      return { code: "OVERLOADED", when: "after" };
    case "has a token that doesn't fit":
    case "has a token that doesn't fit into the first store":
    case "has a token that doesn't fit into the last store":
      return undefined;
  }
}

/** The stores that don't take a poisoned group's token. */
export function refusingStores(kind: PoisonKind): readonly WhichStore[] {
  switch (kind) {
    case "has a token that doesn't fit":
      return ["first", "last"];
    case "has a token that doesn't fit into the first store":
      return ["first"];
    case "has a token that doesn't fit into the last store":
      return ["last"];
    default:
      return [];
  }
}
