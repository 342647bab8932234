import { NO_EVIDENCE } from "../../../src/core/apply/update-evidence.ts";
import type { RememberedRejection } from "../../../src/core/group/rejections.ts";
import { NO_READ_HISTORY, type ReadHistory } from "../../../src/core/plan/read-history.ts";
import type { LeaseState } from "../../../src/core/record/recent-writes.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import type { FormerToken, JournalKind, SharedGroups } from "../../../src/ports/ledger/groups.ts";
import type { LeaseHolder } from "../../../src/ports/ledger/lease.ts";
import type { RequestId } from "../../../src/ports/ledger/requests.ts";
import type { KnownService, RecordedRun, TokenDestinations } from "../../../src/ports/ledger/scope.ts";
import type { Point, Step } from "../instance.ts";

interface Journaled {
  readonly kind: JournalKind;
  readonly user_group_id: string;
  readonly at: Date;
}

export interface LeaseRow {
  readonly epoch: number;
  readonly holder: string;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  readonly writes?: number;
  readonly writesBefore?: number;
  readonly server?: string | null;
  readonly handOverMs?: number | null;
}

/** What a process asks of the holder of the lease. */
export interface RequestRow {
  /** Null if the lease is asked for. */
  readonly user_group_id: string | null;
  readonly requester: string;
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

export const NO_SERVICE: KnownService = {
  baseUrl: null,
  teamId: null,
  evidence: NO_EVIDENCE,
  answeredAt: null,
};

export const NO_TOKENS: TokenDestinations = { complete: null, verifiedAt: null, tables: [] };

/** The committed state of the ledger: it outlives whoever writes it. */
export class LedgerState {
  /** Null until its tables are made. */
  id: string | null = null;
  readonly rows = new Map<string, GroupRecord>();
  readonly runs: RecordedRun[] = [];
  journal: (Journaled & { readonly id: string })[] = [];
  entries = 0;
  refreshApproved: string | null = null;
  formerTokens: (FormerToken & { readonly user_group_id: string })[] = [];
  tokens = NO_TOKENS;
  history: ReadHistory = NO_READ_HISTORY;
  service = NO_SERVICE;
  rejections: readonly RememberedRejection[] = [];
  lease: LeaseRow | undefined;
  /** The database server that the ledger is on. */
  server: string | null = "a server";
  /** The highest epoch so far, whatever the lease says. */
  epochs = 0;
  /** In the order in which they were made. */
  readonly requests = new Map<RequestId, RequestRow>();
  requestsMade = 0;
  readonly writers = new Set<Writer>();
  runsStarted = 0;
  /** What other scopes share with this one. */
  sharedGroups: readonly SharedGroups[] = [];

  enter(entry: Journaled): void {
    this.journal.push({ ...entry, id: String(++this.entries) });
  }

  /** The groups that were deleted or replaced. */
  get removals(): readonly Journaled[] {
    return this.journal.filter(({ kind }) => kind !== "gone" && kind !== "token");
  }

  /** The groups that refreshes found gone or with another token. */
  get found(): readonly Journaled[] {
    return this.journal.filter(({ kind }) => kind === "gone" || kind === "token");
  }

  /** What the lease tells of the writes. */
  get leaseState(): LeaseState {
    const { epoch = 0, writes = 0, writesBefore = 0, server = null } = this.lease ?? {};
    return { epoch: String(epoch), writes, writesBefore, server };
  }

  /** Returns what puts this state back later: the database then has gone back in time. */
  copy(): () => void {
    const { server: _, epochs: _epochs, rows, runs, requests, writers, ...others } = this;
    const kept = {
      ...others,
      journal: [...others.journal],
      formerTokens: [...others.formerTokens],
    };
    const [keptRows, keptRuns] = [new Map(rows), [...runs]];
    return () => {
      Object.assign(this, {
        ...kept,
        journal: [...kept.journal],
        formerTokens: [...kept.formerTokens],
      });
      rows.clear();
      for (const [id, row] of keptRows) rows.set(id, row);
      runs.splice(0, runs.length, ...keptRuns);
      requests.clear();
      writers.clear();
    };
  }

  /** Forgets all but the lease, and the newest run. */
  forgetScope(): void {
    this.rows.clear();
    this.runs.splice(1);
    this.journal = [];
    this.refreshApproved = null;
    this.formerTokens = [];
    this.tokens = NO_TOKENS;
    this.history = NO_READ_HISTORY;
    this.service = NO_SERVICE;
    this.rejections = [];
    this.requests.clear();
  }

  /** As if somebody had dropped its tables. */
  clear(): void {
    this.forgetScope();
    this.runs.length = 0;
    this.id = null;
    this.lease = undefined;
  }
}

/** Who has the lease, as the ledger tells it. */
export const holderOf = (lease: LeaseRow): LeaseHolder => ({
  ...{ handOverMs: null, ...lease },
  epoch: String(lease.epoch),
});

/** The same methods. Before each call comes a point at which the process may die; `names` has those that tell another name. */
export const stepping = <Methods extends object>(
  methods: Methods,
  step: Step,
  names: Readonly<Record<string, string | ((given: readonly unknown[]) => Pick<Point, "call" | "id">)>> = {},
): Methods =>
  new Proxy(methods, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof name !== "string" || typeof method !== "function") return method;
      return async (...given: unknown[]): Promise<unknown> => {
        const told = names[name] ?? name;
        await step({ when: "before", ...(typeof told === "string" ? { call: told } : told(given)) });
        return method.apply(target, given);
      };
    },
  });
