import { type RefreshHold, refreshedBefore, refreshHold } from "../../core/drift/refresh.ts";
import type { Doubt } from "../../core/group/ledger-group.ts";
import { removalsAllowed } from "../../core/plan/deletion-policy.ts";
import { DOUBTED, type Unverified } from "../../core/record/candidates.ts";
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
  /** It asks for groups that were not verified since this time. Those in doubt come first. */
  readonly since: Date;
  /** Undefined if it asks for other groups, too. */
  readonly doubts: readonly Doubt[] | undefined;
  /** How many groups it asks for. */
  readonly due: number;
  /** How many of them are in doubt. */
  readonly doubted: number;
  /** Why no group may be asked for, whatever the operator approves; null if groups may be asked for. */
  readonly unsafe: Warning | null;
  /** Why it is held unless the operator approves it; null if it isn't held, or unsafe. */
  readonly hold: RefreshHold | null;
  /** How many more groups may be found gone or with another token before it is held. */
  readonly mayBeFound: number;
}

interface Known {
  readonly ledger: Pick<LedgerView, "sums" | "journalSum" | "scope">;
  /** Whether a GET changes an existing group; null if nobody knows. */
  readonly updates: boolean | null;
  readonly now: Date;
}

const ANY_DOUBT: readonly Doubt[] = ["rewind", "operator"];

/**
 * How a refresh starts; null if no group is due. Any sync asks for the groups in doubt, and a sync of all tenants also for those
 * that are due by `service.refresh`.
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
  const countOf = async (some: Unverified): Promise<number> =>
    (await ledger.sums({ kind: "refreshable", ...some, of: only && [...only] })).counts.total;
  const { at, intervalMs } = plan.reading;
  const isDoubtedOnly = !plan.isWhole || refresh.everyMs === null;
  const since = isDoubtedOnly ? DOUBTED.since : refreshedBefore(at, refresh.everyMs, intervalMs);
  const doubted = await countOf(DOUBTED);
  const due = isDoubtedOnly ? doubted : await countOf({ since, now });
  if (due === 0) return null;
  const unsafe = unsafeToAsk(update, updates);
  const owned = (await ledger.sums({ kind: "existing" })).counts.total;
  const found = await foundLately(ledger, now);
  return {
    since,
    doubts: isDoubtedOnly ? ANY_DOUBT : undefined,
    due,
    doubted,
    unsafe,
    hold: unsafe ? null : refreshHold(name, found, { limit, owned }),
    mayBeFound: removalsAllowed(limit, owned) - found.count,
  };
}
