import { type RefreshHold, refreshHold, refreshShare, syncIntervalMs } from "../../core/drift/refresh.ts";
import { removalsAllowed } from "../../core/plan/deletion-policy.ts";
import { DOUBTED } from "../../core/record/candidates.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { Warning } from "../../ports/observer.ts";
import type { PlanOptions, PlanSettings } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { foundLately, unsafeToAsk } from "./held-refresh.ts";
import type { Silence } from "./sign-of-life.ts";

/** The `service.refresh` of the config. */
export interface RefreshPolicy {
  /** Each group is asked for again within this time; null: only if it is in doubt. */
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
  /** How many it asks for by `service.refresh`. Those in doubt count among them. */
  readonly share: number;
  /** The longest time that it may take; null if it takes as long as all of them need. */
  readonly withinMs: number | null;
  /** Why no group may be asked for, whatever the operator approves; null if groups may be asked for. */
  readonly unsafe: Warning | null;
  /** Why it is held unless the operator approves it; null if it isn't held, or unsafe. */
  readonly hold: RefreshHold | null;
  /** How many more groups may be found gone or with another token before it is held. */
  readonly mayBeFound: number;
}

interface Known {
  readonly ledger: Pick<LedgerView, "sums" | "journalSum" | "scope" | "history">;
  /** Whether a GET changes an existing group; null if nobody knows. */
  readonly updates: boolean | null;
  readonly now: Date;
  /** The run history has this sync already. */
  readonly isRecorded: boolean;
}

/**
 * How a refresh starts; null if no group is due. Any sync asks for the groups in doubt, and a sync of all tenants for its share
 * by `service.refresh`.
 */
export async function startOfRefresh(
  plan: Plan,
  { only }: Pick<PlanOptions, "only">,
  { name, update, deletion: { limit }, refresh }: RefreshSettings,
  known: Known,
): Promise<RefreshStart | null> {
  const { ledger, updates, now } = known;
  // Without a valid row, nobody knows which tenants are present.
  if (plan.isWhole && !plan.conclusive) return null;
  const of = only && [...only];
  const doubted = (await ledger.sums({ kind: "refreshable", ...DOUBTED, of })).counts.total;
  const { share, withinMs } = await shareOf(plan, refresh, doubted, known);
  const due = Math.max(doubted, share);
  if (due === 0) return null;
  const unsafe = unsafeToAsk(update, updates);
  const owned = (await ledger.sums({ kind: "existing" })).counts.total;
  const found = await foundLately(ledger, now);
  return {
    due,
    doubted,
    share,
    withinMs,
    unsafe,
    hold: unsafe ? null : refreshHold(name, found, { limit, owned }),
    mayBeFound: removalsAllowed(limit, owned) - found.count,
  };
}

/** The time that a refresh may take, as a part of the time between two syncs. */
const PART_OF_INTERVAL = 0.5;

/** This sync, and those of the last two intervals. */
const MOST_SYNCS = 3;

/** How many groups a sync asks for again by `service.refresh`, and how long it may ask for these and those in doubt. */
async function shareOf(
  { isWhole, reading: { at: began } }: Plan,
  { everyMs, silence }: RefreshPolicy,
  doubted: number,
  { ledger, now, isRecorded }: Known,
): Promise<Pick<RefreshStart, "share" | "withinMs">> {
  if (!isWhole || (everyMs === null && doubted === 0)) return { share: 0, withinMs: null };
  const start = everyMs === null ? new Date(0) : new Date(began.getTime() - everyMs);
  // The last syncs of all tenants, newest first, whatever became of them.
  const syncs = await ledger.history(start, MOST_SYNCS, { command: "sync" });
  const earlier = syncs.map(({ startedAt }) => startedAt).slice(isRecorded ? 1 : 0);
  // A command asks for all that is in doubt. The next sync of a daemon has to start on time.
  const isHurried = silence !== undefined || doubted === 0;
  const withinMs = isHurried ? syncIntervalMs(began, earlier) * PART_OF_INTERVAL : null;
  if (everyMs === null) return { share: 0, withinMs };
  const countOf = async (since: Date) =>
    (await ledger.sums({ kind: "refreshable", since, now })).counts.total;
  const [groups, late] = [await countOf(began), await countOf(start)];
  return { share: refreshShare({ now: began, earlier, everyMs, groups, late }), withinMs };
}
