import { recently } from "../../core/deletion/missing-tenants.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { LedgerSnapshot } from "./state.ts";

const DAY = 86_400_000;
const HISTORY_DAYS = 7;
const MOST_RUNS = 5_000;
/** The first day of each span in the histogram of token ages. */
const AGES = [0, 1, 7, 30, 60, 90, 180, 365];

/** Reads what the status page and the metrics show of the ledger. Rejects with LEDGER_…. */
export async function readLedgerSnapshot(ledger: LedgerView, now: Date): Promise<LedgerSnapshot> {
  const before = (days: number): Date => new Date(now.getTime() - days * DAY);
  const status = await ledger.status();
  const history = await ledger.history(before(HISTORY_DAYS), MOST_RUNS);
  const atLeast = await ledger.tokensLiveSince(AGES.map(before));
  const tokenAges = AGES.map((fromDays, n) => ({
    fromDays,
    groups: (atLeast[n] ?? 0) - (atLeast[n + 1] ?? 0),
  }));
  const wentMissing = await ledger.missingSince(recently(now));
  return { readAt: now, status, history, tokenAges, wentMissing };
}
