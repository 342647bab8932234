import { type RefreshHold, refreshHold } from "../../core/drift/refresh.ts";
import { removalsAllowed } from "../../core/plan/deletion-policy.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";
import type { PlanOptions, PlanSettings } from "../plan/make-plan.ts";
import type { Plan } from "../plan/plan.ts";
import { type DueRefresh, dueForRefresh, type RefreshPolicy } from "./due-for-refresh.ts";
import { goneLately } from "./held-refresh.ts";
import { unsafeToAsk } from "./unsafe-to-ask.ts";

export interface RefreshSettings extends Pick<PlanSettings, "name" | "update" | "deletion"> {
  readonly refresh: RefreshPolicy;
}

/** What is known before the first GET of a refresh, which asks for one group at least. */
export interface RefreshStart extends DueRefresh {
  /** Why no group may be asked for, whatever the operator approves; null if groups may be asked for. */
  readonly unsafe: Warning | null;
  /** Why it is held unless the operator approves it; null if it isn't held, or unsafe. */
  readonly hold: RefreshHold | null;
  /** How many more groups may be found gone before it is held. */
  readonly mayBeGone: number;
}

interface Known {
  readonly ledger: Pick<LedgerView, "refreshableCount" | "goneSince" | "existingCount" | "history">;
  readonly updates: KnownService["updates"];
  readonly now: Date;
  /** The run history has this sync already. */
  readonly isRecorded: boolean;
}

/** How a refresh starts; null if no group is due. A sync of all tenants asks for its share, `refresh` for all groups. */
export async function startOfRefresh(
  plan: Plan,
  { refresh: asksForAll, only }: Pick<PlanOptions, "refresh" | "only">,
  { name, update, deletion, refresh }: RefreshSettings,
  { ledger, updates, now, isRecorded }: Known,
): Promise<RefreshStart | null> {
  const { at: began } = plan.reading;
  // Without a valid row, nobody knows which tenants are present.
  if (plan.isWhole ? !plan.conclusive : !asksForAll) return null;
  const { due, withinMs } = asksForAll
    ? {
        due: Math.min(await ledger.refreshableCount({ since: began, now }), only?.size ?? Infinity),
        withinMs: null,
      }
    : await dueForRefresh(refresh, { began, now, isRecorded }, ledger);
  if (due === 0) return null;
  const unsafe = unsafeToAsk(update, updates);
  const limit = { limit: deletion.limit, owned: await ledger.existingCount({}) };
  const gone = await goneLately(ledger, now);
  return {
    due,
    withinMs,
    unsafe,
    hold: unsafe ? null : refreshHold(name, gone, limit),
    mayBeGone: removalsAllowed(limit.limit, limit.owned) - gone.count,
  };
}
