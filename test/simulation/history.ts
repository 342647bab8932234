import type { DeletionPolicy } from "../../src/core/plan/deletion-policy.ts";
import type { UpdatePolicy } from "../../src/core/record/decide.ts";
import type { RotationSelection } from "../../src/engine/rotate.ts";
import type { ServiceState } from "../fakes/service.ts";
import type { Fault, PoisonKind } from "./faults.ts";

/** Everything that happens in one simulation until the faults end. */
export interface History {
  readonly place: Place;
  readonly config: SimulatedConfig;
  /** The rows of the table at the start. */
  readonly tenants: Readonly<Record<string, Row>>;
  /** Whether a sync without faults comes first. */
  readonly startsInSync: boolean;
  readonly steps: readonly Step[];
  /** Whether the sync after the faults verifies tokens: then it also repairs tampering in the token stores. */
  readonly verifiesAtLast: boolean;
  /** Whether the sync after the faults asks for all groups again: then it also heals what others changed at the service. */
  readonly refreshesAtLast: boolean;
  /** Whether the first sync after the faults comes while groups that have failed still wait for their next try. */
  readonly isHasty: boolean;
  /** After all else, the ledger's database goes back to its state before this step; null: it doesn't. */
  readonly rewind: { readonly to: number; readonly withTokens: boolean } | null;
  /** The seed of latencies and jitter. */
  readonly seed: number;
}

/** What doesn't change during a history. */
export interface Place {
  readonly existing: ServiceState["existing"];
  /** What the service makes of names. */
  readonly names: "as sent" | "small" | "cut";
  readonly deleteBy: ServiceState["deleteBy"];
  /** One or two token stores, each in the ledger's database or elsewhere. */
  readonly stores: readonly StorePlace[];
  /** Whether all instances run on one machine, so that a dead process is known to be dead. */
  readonly isOneMachine: boolean;
}

export type StorePlace = "with the ledger" | "elsewhere";

/** If there is only one store, it is both. */
export type WhichStore = "first" | "last";

/** What the operator can change between two runs. */
export interface SimulatedConfig {
  readonly update: UpdatePolicy;
  readonly deletion: DeletionPolicy;
  readonly rotation: { readonly maxAgeMs: number | null; readonly maxPerRun: number | null };
  /** `service.refresh`, in milliseconds. */
  readonly refreshMs: number | null;
  /** Of calls and of rotations. */
  readonly concurrency: number;
  /** The source's description. After a change, tenants count as unseen in the new source. */
  readonly source: "customers" | "clients";
  /** Whether there is one more rule, which changes every group. */
  readonly hasTier: boolean;
  /** The stores that the config names. Another scope's store must not be changed. */
  readonly tokens: "everywhere" | WhichStore | "another scope's";
}

/** What the customer's table has for an id. */
export type Row =
  | Active
  | { readonly kind: "gone" }
  | { readonly kind: "flagged" }
  | { readonly kind: "not ready" }
  /** The mapping is null. */
  | { readonly kind: "rejected" }
  | { readonly kind: "twice" };

export interface Active {
  readonly kind: "active";
  readonly name: number;
  readonly mapping: number;
  readonly plan: number;
}

export type Step =
  | { readonly kind: "row"; readonly id: string; readonly row: Row }
  /** The whole table becomes empty, or has its rows again. */
  | { readonly kind: "table"; readonly isEmpty: boolean }
  | { readonly kind: "config"; readonly change: Partial<SimulatedConfig> }
  | { readonly kind: "meddling"; readonly what: Meddling; readonly id: string }
  | { readonly kind: "tampering"; readonly what: Tampering; readonly id: string; readonly store: WhichStore }
  | { readonly kind: "loss"; readonly store: WhichStore }
  /** From now on this group fails, until the next such step, or in one more sync after all other faults have ended; null: no group. */
  | { readonly kind: "poison"; readonly poison: Poison | null }
  | { readonly kind: "time"; readonly ms: number }
  /** The wall clocks of all machines are set, so far ahead of the ledger's clock, which is always right. */
  | { readonly kind: "clocks"; readonly ms: number }
  | RunStep;

/** What another program does with a group at the service. */
export type Meddling = "makes the group" | "rotates the token" | "deletes the group" | "renames the group";

/** What another program does with a group's token in a store. */
export type Tampering =
  | "stores another token"
  | "stores a copy of another group's token"
  | "takes the token out of the store";

export interface RunStep {
  readonly kind: "run";
  readonly command: Command;
  readonly faults: readonly Fault[];
  /** The longest time, in milliseconds, that anything outside the process takes. */
  readonly latencyMs: number;
  /** The history goes on after this time, even if the run is not over; null: when the run is over. */
  readonly meanwhileMs: number | null;
  /** Whether it hands the lease over to whoever asks for it, as a daemon's sync does. */
  readonly handsOver?: boolean;
  /** Makes a full sync a daemon's session. */
  readonly session?: Session;
}

/** Single tenants are served beside a full sync, and after it until the next one is due. */
export interface Session {
  /** From the end of the full sync until the next one is due, in milliseconds. */
  readonly lastsMs: number;
  readonly happenings: readonly Happening[];
}

/** What happens to a tenant during a session. */
export interface Happening {
  /** Points are counted from 1. */
  readonly at: number;
  readonly id: string;
  /** What becomes of the tenant's row; null: it stays as it is. */
  readonly row: Row | null;
  /** How the session hears of the tenant: not at all if the notice is lost, twice if it is doubled. */
  readonly notices: readonly Notice[];
}

export interface Notice {
  /** Comes so many milliseconds after what happened. */
  readonly afterMs: number;
  /** A change feed tells of the tenant, or an application asks for it: this process, or another one in standby. */
  readonly feed: "change feed" | "request" | "request to a standby";
}

export type Command =
  | {
      readonly name: "sync";
      readonly only: readonly string[] | null;
      /** Whether the operator approves what is held. */
      readonly approves: boolean;
      /** Whether it verifies tokens. */
      readonly verifies: boolean;
      /** Whether it asks for all groups again. */
      readonly refreshes: boolean;
      /** Whether it deletes the groups of the tenants in `only` that are gone, without a grace period. */
      readonly skipsGrace?: boolean;
    }
  | { readonly name: "rotate"; readonly selection: RotationSelection }
  /** Null: of all groups. */
  | { readonly name: "rotate --cancel"; readonly only: readonly string[] | null };

export interface Poison {
  readonly id: string;
  readonly kind: PoisonKind;
}

export const IDS = ["a", "b", "c", "d", "e"] as const;
