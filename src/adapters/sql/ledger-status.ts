import type { Held } from "../../core/clearance.ts";
import { STALE_CODE } from "../../core/evidence.ts";
import { type FailedBefore, type FailingGroup, failingGroup } from "../../core/failing.ts";
import type { Counts, RunOutcome } from "../../core/outcome.ts";
import type { LeaseHolder } from "../../ports/lease.ts";
import type { HeldGroups, LedgerStatus, RecordedRun } from "../../ports/ledger.ts";
import type { Database } from "./database.ts";
import type { LedgerTables } from "./ledger-tables.ts";

/** Of a list that may hold every group there is. */
const SHOWN = 100;
const SHOWN_RUNS = 10;

/** An older groupsync that was at work while the ledger was migrated has left it null. */
const CHANGE_FAILING_SINCE = "CASE WHEN failure_count > 0 THEN coalesce(failing_since, updated_at) END";
/** MySQL's least() is null where one of its values is. */
const FAILING_SINCE = `coalesce(least(${CHANGE_FAILING_SINCE}, copies_since), ${CHANGE_FAILING_SINCE}, copies_since)`;
const IS_FAILING = "(failure_count > 0 OR copies_count > 0)";

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
         count(CASE WHEN intent IS NULL AND NOT ${IS_FAILING} AND missing_kind IS NULL AND held IS NULL
           THEN 1 END) AS in_sync,
         count(CASE WHEN intent IS NOT NULL THEN 1 END) AS under_way,
         count(CASE WHEN ${IS_FAILING} THEN 1 END) AS failing,
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
    // In one statement with the code: a run may approve them at any time.
    const rows = await this.#database.query<HeldColumns>(
      `SELECT g.user_group_id, g.held AS kind, e.held_code AS code, count(*) OVER () AS count
       FROM ${this.#tables.groups} AS g JOIN ${this.#tables.evidence} AS e ON e.scope = g.scope
       WHERE g.scope = $1 AND g.held IS NOT NULL AND e.held_code IS NOT NULL
       ORDER BY g.user_group_id LIMIT ${SHOWN}`,
      [this.#scope],
    );
    const [first] = rows;
    if (!first) return null;
    const groups = rows.map(({ kind, user_group_id }): Held => ({ kind, user_group_id }));
    return { count: Number(first.count), code: first.code === STALE_CODE ? null : first.code, groups };
  }

  async #failing(): Promise<FailingGroup[]> {
    const rows = await this.#database.query<FailingColumns>(
      `SELECT user_group_id, ${FAILING_SINCE} AS "since",
         failure_code AS "code", failure_message AS "message", failure_count AS "count", retry_at AS "retryAt",
         ${CHANGE_FAILING_SINCE} AS "changeSince", copies_code AS "copiesCode", copies_message AS "copiesMessage",
         copies_count AS "copiesCount", copies_retry_at AS "copiesRetryAt", copies_since AS "copiesSince"
       FROM ${this.#tables.groups} WHERE scope = $1 AND ${IS_FAILING}
       ORDER BY "since", user_group_id LIMIT ${SHOWN}`,
      [this.#scope],
    );
    return rows.flatMap((row) => failingGroup(row.user_group_id, failuresIn(row)) ?? []);
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

interface HeldColumns extends Held {
  readonly code: string;
  readonly count: string;
}

interface FailingColumns extends Omit<FailedBefore, "since"> {
  readonly user_group_id: string;
  readonly changeSince: Date;
  readonly copiesCode: string;
  readonly copiesMessage: string;
  readonly copiesCount: number;
  readonly copiesRetryAt: Date;
  readonly copiesSince: Date;
}

const failuresIn = ({
  code,
  message,
  count,
  retryAt,
  changeSince,
  ...copies
}: FailingColumns): FailedBefore[] => [
  ...(count > 0 ? [{ code, message, count, retryAt, since: changeSince }] : []),
  ...(copies.copiesCount > 0
    ? [
        {
          code: copies.copiesCode,
          message: copies.copiesMessage,
          count: copies.copiesCount,
          retryAt: copies.copiesRetryAt,
          since: copies.copiesSince,
        },
      ]
    : []),
];

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
