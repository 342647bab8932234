import { createHash } from "node:crypto";
import type { Failure } from "../failure/sync-error.ts";
import { type DeletionLimit, removalsAllowed } from "../plan/deletion-policy.ts";
import { quantity } from "../text/quantity.ts";

/** What decides how many groups a sync asks for again. */
interface RefreshState {
  readonly now: Date;
  /** When the syncs of all tenants before this one began, newest first. */
  readonly earlier: readonly Date[];
  /** Each group is asked for within this time (`service.refresh`). */
  readonly everyMs: number;
  /** Groups that may be asked for. */
  readonly groups: number;
  /** Those of them that were not asked for within `everyMs`. */
  readonly late: number;
}

/** All groups are asked for in this part of `everyMs`, because a sync may fail or come late. */
const PART_OF_TIME = 0.9;

/** In a sync after a longer pause, no more groups are asked for than are due in this part of `everyMs`. */
const LONGEST_PART = 1 / 7;

/**
 * How many groups this sync asks for: as many of all groups as the time since the last sync is of the time for all of them.
 * If some are late, twice as many, and never all at once: after an outage, or when the key is new, every group may be late.
 */
export function refreshShare({ now, earlier, everyMs, groups, late }: RefreshState): number {
  const interval = Math.min(
    everyMs,
    now.getTime() - (earlier[0] ?? now).getTime(),
    Math.max(syncIntervalMs(now, earlier), everyMs * LONGEST_PART),
  );
  // Count by a clock that all syncs share. A share that was rounded up would ask for a few groups far too often.
  const askedUntil = (time: number): number => Math.floor((time / (everyMs * PART_OF_TIME)) * groups);
  const share = askedUntil(now.getTime()) - askedUntil(now.getTime() - interval);
  return Math.min(groups, late > 0 ? 2 * share : share);
}

/** The time between two syncs: the shorter of the last two intervals, because one of them may be an outage. 0 if unknown. */
export function syncIntervalMs(now: Date, earlier: readonly Date[]): number {
  const times = [now, ...earlier.slice(0, 2)].map((time) => time.getTime());
  const intervals = times.slice(1).map((time, index) => Math.max(0, (times[index] ?? time) - time));
  return intervals.length === 0 ? 0 : Math.min(...intervals);
}

/** Groups that refreshes found gone or with another token within the last 24 hours, and since the last approval. */
export interface RefreshFindings {
  readonly count: number;
  /** The one that was found last; null if there is none. */
  readonly last: { readonly user_group_id: string; readonly at: Date } | null;
}

/** A refresh that is held: no group is asked for. */
export interface HeldRefresh extends Failure {
  readonly hint: string;
  /** How many groups this sync was to ask for, and didn't. */
  readonly count: number;
  /** The code that approves that groups are made again. */
  readonly approval: string;
}

interface RefreshLimit {
  readonly limit: DeletionLimit;
  /** Groups in the ledger. */
  readonly owned: number;
}

/** The code is good until a refresh finds another such group. `scope` is the `name` of the config. */
export function refreshCode(scope: string, { last }: RefreshFindings): string {
  const hash = createHash("sha256");
  // No field can contain a NUL.
  for (const field of ["refresh", scope, last?.user_group_id ?? "", String(last?.at.getTime())])
    hash.update(`${field}\0`);
  return hash.digest("hex").slice(0, CODE_LENGTH);
}

/** Hexadecimal digits, as for the approval of removals. */
const CODE_LENGTH = 20;

/** As long as this lasts, every refresh is held. */
export interface RefreshHold {
  /** How many groups were found gone or with another token. */
  readonly changed: number;
  /** Groups in the ledger. */
  readonly owned: number;
  /** How many of them `deletion.limit` allows. */
  readonly allowed: number;
  readonly approval: string;
}

/**
 * Null if no refresh is held. It is held if so many groups are gone that somebody may have emptied the service on purpose, or if so
 * many have another token that it may be another service.
 */
export function refreshHold(scope: string, found: RefreshFindings, limit: RefreshLimit): RefreshHold | null {
  const { owned } = limit;
  const allowed = removalsAllowed(limit.limit, owned);
  if (found.count <= allowed) return null;
  return { changed: found.count, owned, allowed, approval: refreshCode(scope, found) };
}

export const refreshHoldText = ({ changed, owned, allowed }: RefreshHold): string =>
  `the refresh is held: ${quantity(changed, "group")} ${changed === 1 ? "was" : "were"} gone at the service in 24 hours or had another token, and deletion.limit allows ${allowed} of ${quantity(owned, "group")}`;

export const approveRefreshCommand = (approval: string): string =>
  `groupsync sync --refresh --approve-refresh ${approval}`;

/** `count` groups were to be asked for, and are not. */
export function describeHeldRefresh(hold: RefreshHold, count: number): HeldRefresh {
  const { approval } = hold;
  const rest = `; ${quantity(count, "group")} ${count === 1 ? "is" : "are"} not asked for`;
  return {
    code: "REFRESH_HELD",
    message: `${refreshHoldText(hold)}${count > 0 ? rest : ""}`,
    hint: `find out who has deleted them or changed their tokens: to ask for a group that is gone makes it again, and another token takes the place of the stored one. If that is right: ${approveRefreshCommand(approval)}`,
    count,
    approval,
  };
}

/** How long the service may have answered nobody before a daemon asks for a sign of life, in milliseconds. */
export const LONGEST_SILENCE = 3_600_000;

/** After which pauses a request for a sign of life that has failed is repeated, in milliseconds. */
export const REPEATED_AFTER: readonly number[] = [60_000, 60_000];

interface KnownAnswers {
  /** Whether the service has ever answered with a group. */
  readonly isKnown: boolean;
  /** The last good answer; null if an older groupsync had it, and didn't record it. */
  readonly answeredAt: Date | null;
}

/**
 * How long it is until a daemon asks for a sign of life, in milliseconds; 0 if it asks now. `unclearAt`: when it last got an
 * answer that shows nothing; null if it got none.
 */
export function msUntilAsked(
  { isKnown, answeredAt }: KnownAnswers,
  unclearAt: Date | null,
  now: Date,
): number {
  if (!isKnown) return Number.POSITIVE_INFINITY;
  return Math.max(msUntilSilent(answeredAt, now), msUntilSilent(unclearAt, now));
}

/** A time in the future was noted before the clock was set back: nobody knows how long ago it was. */
const msUntilSilent = (since: Date | null, now: Date): number =>
  since === null || since > now ? 0 : Math.max(0, since.getTime() + LONGEST_SILENCE - now.getTime());
