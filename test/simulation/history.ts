import type { UpdatePolicy } from "../../src/core/decide.ts";
import type { DeletionPolicy } from "../../src/core/deletion.ts";
import type { RotationSelection } from "../../src/engine/rotation-selection.ts";
import type { ServiceState } from "../fakes/service.ts";
import type { Fault, PoisonKind } from "./faults.ts";

/** All that happens in one simulation until the faults end. */
export interface History {
  readonly place: Place;
  readonly config: SimulatedConfig;
  /** In the table at the start. */
  readonly tenants: Readonly<Record<string, Row>>;
  /** A sync without faults comes before everything else. */
  readonly startsInSync: boolean;
  readonly steps: readonly Step[];
  /** Whether the sync after the faults looks into the token stores: then it makes good also what somebody did there. */
  readonly verifiesAtLast: boolean;
  /** What goes on failing after all other faults have ended, for one more sync. */
  readonly poison: Poison | null;
  /** For latencies and jitter. */
  readonly seed: number;
}

/** What stays as it is. */
export interface Place {
  readonly existing: ServiceState["existing"];
  readonly deleteBy: ServiceState["deleteBy"];
  /** One or two, each with the ledger in one database or not. */
  readonly stores: readonly StorePlace[];
  /** All instances run on one machine, where a dead one is known to be dead. */
  readonly isOneMachine: boolean;
}

export type StorePlace = "with the ledger" | "elsewhere";

/** Where there is one, it is both. */
export type WhichStore = "first" | "last";

/** What the operator can change between two runs. */
export interface SimulatedConfig {
  readonly update: UpdatePolicy;
  readonly deletion: DeletionPolicy;
  readonly rotation: { readonly maxAgeMs: number | null; readonly maxPerRun: number | null };
  /** Of calls, and of rotations. */
  readonly concurrency: number;
  /** The source's description: another one makes tenants estranged. */
  readonly source: "customers" | "clients";
  /** A rule more: every group differs from what it was. */
  readonly hasTier: boolean;
  /** In which stores tokens are kept; in another scope's, nothing may be done there. */
  readonly tokens: "everywhere" | WhichStore | "another scope's";
}

/** What the customer's table has under an id. */
export type Row =
  | Active
  | { readonly kind: "gone" }
  | { readonly kind: "flagged" }
  /** Its mapping is null. */
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
  /** The whole table is empty, or has its rows again. */
  | { readonly kind: "table"; readonly isEmpty: boolean }
  | { readonly kind: "config"; readonly change: Partial<SimulatedConfig> }
  | { readonly kind: "meddling"; readonly what: Meddling; readonly id: string }
  | { readonly kind: "tampering"; readonly what: Tampering; readonly id: string; readonly store: WhichStore }
  | { readonly kind: "loss"; readonly store: WhichStore }
  | { readonly kind: "time"; readonly ms: number }
  /** The clocks on the walls of all machines are set. */
  | { readonly kind: "clocks"; readonly ms: number }
  | RunStep;

/** What somebody else does with a group behind groupsync's back. */
export type Meddling = "makes the group" | "rotates the token" | "deletes the group";

/** What somebody else does with a group's token in a store. */
export type Tampering =
  | "stores another token"
  | "stores a copy of another group's token"
  | "takes the token out of the store";

export interface RunStep {
  readonly kind: "run";
  readonly command: Command;
  readonly faults: readonly Fault[];
  /** Everything outside of the process takes up to so long. */
  readonly latencyMs: number;
  /** The history goes on after so long, though the run may not be over; null: when it is over. */
  readonly meanwhileMs: number | null;
}

export type Command =
  | {
      readonly name: "sync";
      readonly only: readonly string[] | null;
      /** The operator looks what is held, and approves it. */
      readonly approves: boolean;
      /** It looks into the token stores, too. */
      readonly verifies: boolean;
    }
  | { readonly name: "rotate"; readonly selection: RotationSelection };

export interface Poison {
  readonly id: string;
  readonly kind: PoisonKind;
}

export const IDS = ["a", "b", "c", "d", "e"] as const;
