import { ApprovalCode } from "../../core/approval-code.ts";
import type { Held } from "../../core/clearance.ts";
import type { Counts, RunOutcome } from "../../core/outcome.ts";
import type { FailingGroup, HeldGroups, LeaseHolder, LedgerStatus, RecordedRun } from "../../ports/ledger.ts";
import type { Database } from "./database.ts";
import type { LedgerTables } from "./ledger-tables.ts";

const BATCH = 5_000;
/** Of a list that may hold every group there is. */
const SHOWN = 100;
const SHOWN_RUNS = 10;

/** An older groupsync that was at work while the ledger was migrated has left it null. */
const FAILING_SINCE = "CASE WHEN failure_count > 0 THEN coalesce(failing_since, updated_at) END";

/** Of an empty ledger. */
export const NO_STATUS: Omit<LedgerStatus, "service"> = {
  groups: { total: 0, in_sync: 0, under_way: 0, failing: 0, missing: 0, unverified: 0 },
  oldestToken: null,
  oldestUnsynced: null,
  held: null,
  failing: [],
  runs: [],
  lease: null,
};

/** Sums up one scope of the ledger for people. */
export class StatusReader {
  readonly #database: Database;
  readonly #tables: LedgerTables;
  readonly #scope: string;

  constructor(database: Database, tables: LedgerTables, scope: string) {
    this.#database = database;
    this.#tables = tables;
    this.#scope = scope;
  }

  async read(): Promise<Omit<LedgerStatus, "service">> {
    return {
      ...(await this.#groups()),
      oldestToken: await this.#oldestToken(),
      held: await this.#held(),
      failing: await this.#failing(),
      runs: await this.history(null, SHOWN_RUNS),
      lease: await this.#lease(),
    };
  }

  async #groups(): Promise<Pick<LedgerStatus, "groups" | "oldestUnsynced">> {
    const [row] = await this.#database.query<GroupSums>(
      `SELECT count(*) AS total,
         count(CASE WHEN intent IS NULL AND failure_count = 0 AND missing_kind IS NULL AND held IS NULL
           THEN 1 END) AS in_sync,
         count(CASE WHEN intent IS NOT NULL THEN 1 END) AS under_way,
         count(CASE WHEN failure_count > 0 THEN 1 END) AS failing,
         count(CASE WHEN missing_kind IS NOT NULL THEN 1 END) AS missing,
         count(CASE WHEN unverified IS NOT NULL THEN 1 END) AS unverified,
         min(CASE WHEN intent IS NOT NULL THEN intent_at END) AS "underWaySince",
         min(${FAILING_SINCE}) AS "failingSince"
       FROM ${this.#tables.groups} WHERE scope = $1`,
      [this.#scope],
    );
    if (!row) return NO_STATUS;
    const { underWaySince, failingSince, ...counts } = row;
    const isFailing = failingSince && !(underWaySince && underWaySince < failingSince);
    return {
      groups: {
        total: Number(counts.total),
        in_sync: Number(counts.in_sync),
        under_way: Number(counts.under_way),
        failing: Number(counts.failing),
        missing: Number(counts.missing),
        unverified: Number(counts.unverified),
      },
      oldestUnsynced: isFailing ? failingSince : underWaySince,
    };
  }

  async #oldestToken(): Promise<Date | null> {
    const [row] = await this.#database.query<{ since: Date | null }>(
      `SELECT min(token_since) AS since FROM ${this.#tables.groups} WHERE scope = $1`,
      [this.#scope],
    );
    return row?.since ?? null;
  }

  async tokensLiveSince(times: readonly Date[]): Promise<number[]> {
    if (times.length === 0) return [];
    const counts = times.map((_, n) => `count(CASE WHEN token_since <= $${n + 2} THEN 1 END) AS "n${n}"`);
    const [row] = await this.#database.query<Readonly<Record<string, string>>>(
      `SELECT ${counts.join(", ")} FROM ${this.#tables.groups} WHERE scope = $1`,
      [this.#scope, ...times],
    );
    return times.map((_, n) => Number(row?.[`n${n}`] ?? 0));
  }

  async #held(): Promise<HeldGroups | null> {
    // In one statement with what the code is made of: a run may approve them at any time.
    const batches = this.#database.stream<HeldColumns>(
      this.#database.dialect.begin.snapshot,
      `SELECT g.user_group_id, g.held, s.base_url, coalesce(e.approvals, 0)
       FROM ${this.#tables.groups} AS g
         LEFT JOIN ${this.#tables.services} AS s ON s.scope = g.scope
         LEFT JOIN ${this.#tables.evidence} AS e ON e.scope = g.scope
       WHERE g.scope = $1 AND g.held IS NOT NULL
       ORDER BY g.user_group_id`,
      [this.#scope],
      BATCH,
    );
    let code: ApprovalCode | undefined;
    let count = 0;
    const groups: Held[] = [];
    for await (const rows of batches) {
      for (const [user_group_id, kind, baseUrl, approvals] of rows) {
        code ??= new ApprovalCode({ baseUrl, approvals });
        code.add({ kind, user_group_id });
        count++;
        if (groups.length < SHOWN) groups.push({ kind, user_group_id });
      }
    }
    return code ? { count, code: code.get(), groups } : null;
  }

  #failing(): Promise<FailingGroup[]> {
    return this.#database.query<FailingGroup>(
      `SELECT user_group_id, failure_fingerprint AS "fingerprint", failure_code AS "code",
         failure_message AS "message", failure_count AS "count", retry_at AS "retryAt",
         ${FAILING_SINCE} AS "since"
       FROM ${this.#tables.groups} WHERE scope = $1 AND failure_count > 0
       ORDER BY "since", user_group_id LIMIT ${SHOWN}`,
      [this.#scope],
    );
  }

  /** The runs that began at `since` or later, or whenever where that is null. */
  async history(since: Date | null, limit: number): Promise<RecordedRun[]> {
    const rows = await this.#database.query<RunColumns>(
      `SELECT * FROM ${this.#tables.runs}
       WHERE scope = $1 ${since ? "AND started_at >= $3" : ""} ORDER BY id DESC LIMIT $2`,
      since ? [this.#scope, limit, since] : [this.#scope, limit],
    );
    return rows.map((row) => ({
      id: row.id,
      command: row.command,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      result: row.outcome && {
        outcome: row.outcome,
        counts: JSON.parse(row.counts) as Counts,
        requests: Number(row.requests),
        error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? "" },
      },
    }));
  }

  async #lease(): Promise<LeaseHolder | null> {
    const [row] = await this.#database.query<LeaseHolder>(
      `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt"
       FROM ${this.#tables.leases} WHERE scope = $1 AND expires_at > ${this.#database.dialect.now}`,
      [this.#scope],
    );
    return row ?? null;
  }
}

interface GroupSums extends Readonly<Record<keyof LedgerStatus["groups"], string>> {
  readonly underWaySince: Date | null;
  readonly failingSince: Date | null;
}

type HeldColumns = [user_group_id: string, kind: Held["kind"], baseUrl: string | null, approvals: number];

interface RunColumns {
  readonly id: string;
  readonly command: string;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly outcome: RunOutcome | null;
  readonly counts: string;
  readonly requests: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
}
