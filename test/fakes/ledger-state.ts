import type { Held } from "../../src/core/clearance.ts";
import { type Evidence, NO_EVIDENCE } from "../../src/core/evidence.ts";
import type { Group } from "../../src/core/group.ts";
import type { GroupFailure, LedgerGroup } from "../../src/core/ledger-group.ts";
import type { RowDigest } from "../../src/core/tenant.ts";
import type { CopiesFailure } from "../../src/core/token-copies.ts";
import type { TokenTable } from "../../src/core/token-tables.ts";
import type { KnownService, RecordedRun } from "../../src/ports/ledger.ts";
import type { FormerToken } from "../contracts/ledger/rig.ts";

export interface LedgerRow {
  readonly fingerprint: string | null;
  readonly confirmed: Group | null;
  readonly serviceName: string | null;
  readonly tokenFingerprint: string | null;
  readonly tokenSince: Date | null;
  /** Of a token that the service has told for it, and that belongs to another group. */
  readonly sharedToken: string | null;
  /** Of the row that the confirmed group was computed from. */
  readonly row: RowDigest | null;
  /** Known from the first intent on. */
  readonly bucket: number;
  readonly dataSourceId: string | null;
  readonly unverified: LedgerGroup["unverified"];
  /** Fingerprint of the group that the intent means to make. */
  readonly intended: string | null;
  readonly intent: LedgerGroup["intent"];
  readonly intentAt: Date | null;
  readonly absence: LedgerGroup["absence"];
  readonly held: LedgerGroup["held"];
  readonly failure: GroupFailure | null;
  /** When the first failure in the row was. */
  readonly failingSince: Date | null;
  /** Set while its token is not in every store. */
  readonly copies: (CopiesFailure & { readonly since: Date }) | null;
}

/** A group that was deleted or replaced. */
export interface Removed extends Held {
  readonly at: Date;
}

export interface LeaseRow {
  readonly epoch: number;
  readonly holder: string;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
}

/** A transaction that is open. Until it ends, nobody else takes the lease. */
export interface Writer {
  /** When the database last heard of it, by its own clock. */
  heardAt: Date;
}

let ids = 0;
/** Of a ledger whose tables are being made. */
export const newLedgerId = (): string => `ledger ${++ids}`;

const NO_SERVICE: KnownService = { baseUrl: null, teamId: null, updates: null };

/** The committed state of the ledger: it outlives whoever writes it. */
export class LedgerState {
  /** Null until its tables are made. */
  id: string | null = null;
  readonly rows = new Map<string, LedgerRow>();
  readonly runs: RecordedRun[] = [];
  removals: Removed[] = [];
  formerTokens: FormerToken[] = [];
  tokenPlaces: readonly string[] | null = null;
  tokenTables: readonly TokenTable[] = [];
  evidence: Evidence = NO_EVIDENCE;
  service = NO_SERVICE;
  lease: LeaseRow | undefined;
  readonly writers = new Set<Writer>();
  runsStarted = 0;

  /** As if somebody had dropped its tables. */
  clear(): void {
    this.id = null;
    this.rows.clear();
    this.runs.length = 0;
    this.removals = [];
    this.formerTokens = [];
    this.tokenPlaces = null;
    this.tokenTables = [];
    this.evidence = NO_EVIDENCE;
    this.service = NO_SERVICE;
    this.lease = undefined;
  }
}

export const NEW_ROW: LedgerRow = {
  fingerprint: null,
  confirmed: null,
  serviceName: null,
  tokenFingerprint: null,
  tokenSince: null,
  sharedToken: null,
  row: null,
  bucket: 0,
  dataSourceId: null,
  unverified: null,
  intent: null,
  intentAt: null,
  intended: null,
  absence: null,
  held: null,
  failure: null,
  failingSince: null,
  copies: null,
};
