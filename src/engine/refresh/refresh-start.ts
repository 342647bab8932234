import { type RefreshHold, refreshHold, refreshShare, syncIntervalMs } from "../../core/drift/refresh.ts";
import { removalsAllowed } from "../../core/plan/deletion-policy.ts";
import { IN_DOUBT } from "../../core/record/record.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { Warning } from "../../ports/observer.ts";
import type { PlanOptions, PlanSettings } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { goneLately, unsafeToAsk } from "./held-refresh.ts";
import type { Silence } from "./sign-of-life.ts";

/** The `service.refresh` of the config. */
export interface RefreshPolicy {
  /** Each group is asked for again within this time; null: only if the operator asks for that. */
  readonly everyMs: number | null;
  /** A daemon's sync asks for one group if the service has answered nobody for an hour. All runs of the process share this. */
  readonly silence?: Silence;
}

export interface RefreshSettings extends Pick<PlanSettings, "name" | "update" | "deletion"> {
  readonly refresh: RefreshPolicy;
}

/** What is known before the first GET of a refresh, which asks for one group at least. */
export interface RefreshStart {
  /** How many groups it asks for. */
  readonly due: number;
  /** How many of them are in doubt. They come first. */
  readonly doubted: number;
  /** The longest time that it may take; null if it takes as long as all of them need. */
  readonly withinMs: number | null;
  /** Why no group may be asked for, whatever the operator approves; null if groups may be asked for. */
  readonly unsafe: Warning | null;
  /** Why it is held unless the operator approves it; null if it isn't held, or unsafe. */
  readonly hold: RefreshHold | null;
  /** How many more groups may be found gone before it is held. */
  readonly mayBeGone: number;
}

interface Known {
  readonly ledger: Pick<LedgerView, "candidateCount" | "goneSince" | "history">;
  /** Whether a GET changes an existing group; null if nobody knows. */
  readonly updates: boolean | null;
  readonly now: Date;
  /** The run history has this sync already. */
  readonly isRecorded: boolean;
}

/**
 * How a refresh starts; null if no group is due. `options.refresh` asks for all groups. Any sync asks for those in doubt, and a
 * sync of all tenants for its share by `service.refresh`.
 */
export async function startOfRefresh(
  plan: Plan,
  options: Pick<PlanOptions, "refresh" | "only">,
  { name, update, deletion: { limit }, refresh }: RefreshSettings,
  known: Known,
): Promise<RefreshStart | null> {
  const { ledger, updates, now } = known;
  // Without a valid row, nobody knows which tenants are present.
  if (plan.isWhole && !plan.conclusive) return null;
  const doubted = await ledger.candidateCount({ kind: "refreshable", ...IN_DOUBT });
  const { due, withinMs } = await shareOf(plan, options, refresh, doubted, known);
  if (due === 0) return null;
  const unsafe = unsafeToAsk(update, updates);
  const owned = await ledger.candidateCount({ kind: "existing" });
  const gone = await goneLately(ledger, now);
  return {
    due,
    doubted,
    withinMs,
    unsafe,
    hold: unsafe ? null : refreshHold(name, gone, { limit, owned }),
    mayBeGone: removalsAllowed(limit, owned) - gone.count,
  };
}

/** The time that a refresh may take, as a part of the time between two syncs. */
const PART_OF_INTERVAL = 0.5;

/** This sync, and those of the last two intervals. */
const MOST_SYNCS = 3;

/** How many groups a sync asks for again, and how long that may take. */
async function shareOf(
  plan: Plan,
  { refresh: asksForAll, only }: Pick<PlanOptions, "refresh" | "only">,
  { everyMs, silence }: RefreshPolicy,
  doubted: number,
  { ledger, now, isRecorded }: Known,
): Promise<Pick<RefreshStart, "due" | "withinMs">> {
  const { at: began } = plan.reading;
  const isOwnShare = plan.isWhole && !asksForAll && everyMs !== null;
  const countOf = (since: Date) => ledger.candidateCount({ kind: "refreshable", since, now });
  const groups = asksForAll || isOwnShare ? await countOf(began) : doubted;
  if (groups === 0) return { due: 0, withinMs: null };
  // Only the next sync of a daemon has to start on time.
  const isHurried = plan.isWhole && !asksForAll && (silence !== undefined || doubted === 0);
  if (!isOwnShare && !isHurried) return { due: Math.min(groups, only?.size ?? groups), withinMs: null };
  const start = everyMs === null ? new Date(0) : new Date(began.getTime() - everyMs);
  // The last syncs of all tenants, newest first, whatever became of them.
  const syncs = await ledger.history(start, MOST_SYNCS, "sync");
  const earlier = syncs.map(({ startedAt }) => startedAt).slice(isRecorded ? 1 : 0);
  const withinMs = isHurried ? syncIntervalMs(began, earlier) * PART_OF_INTERVAL : null;
  if (everyMs === null) return { due: doubted, withinMs };
  const late = await countOf(start);
  return { due: Math.max(doubted, refreshShare({ now: began, earlier, everyMs, groups, late })), withinMs };
}
