import { doesUpdate } from "../core/apply/update-evidence.ts";
import { wentMissing } from "../core/deletion/missing-tenants.ts";
import { failingGroup } from "../core/failure/group-failures.ts";
import { FAILED_BY_SERVICE } from "../core/failure/service-failure.ts";
import type { DeletionPolicy } from "../core/plan/deletion-policy.ts";
import { namesOf } from "../core/record/candidates.ts";
import { owedFailures, owes } from "../core/record/owes.ts";
import { isGoodSync, type LedgerStatus } from "../core/report/scope-facts.ts";
import type { RotationPolicy } from "../core/rotation/rotation-policy.ts";
import { shownTable } from "../core/tokens/destination.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { RecordedRun } from "../ports/ledger/scope.ts";
import { heldGroups } from "./plan/held-groups.ts";
import { heldRefresh } from "./refresh/held-refresh.ts";

interface StatusSettings {
  /** The scope: `name` in the config. */
  readonly name: string;
  readonly deletion: DeletionPolicy;
  readonly rotation: Pick<RotationPolicy, "maxAgeMs">;
}

/** A list of groups shows this many at most. */
const SHOWN = 100;
const EVER = new Date(0);
/** In milliseconds. */
const DAY = 86_400_000;
/** How many runs are read: a day of a schedule of five minutes, or more if these don't tell enough. */
const READ_RUNS = [300, 5_000];

/** Changes nothing. Rejects with LEDGER_…. */
export async function ledgerStatus(
  ledger: LedgerView,
  settings: StatusSettings,
  now: Date,
): Promise<LedgerStatus> {
  const { service, lease, tokens } = await ledger.scope();
  const { counts, missing, ...sums } = await ledger.sums();
  const held = await heldGroups(ledger);
  const fails = await ledger.candidates({ kind: "failing" }, { limit: SHOWN });
  const failing = fails.flatMap((record) => failingGroup(record.user_group_id, owedFailures(record)) ?? []);
  const owing = await ledger.candidates({ kind: "owing" }, { limit: SHOWN });
  const rejected = await ledger.rejections();
  const listed = [...(held?.groups ?? []), ...failing, ...owing, ...rejected];
  const ids = [...new Set(listed.flatMap(({ user_group_id }) => user_group_id ?? []))];
  const records = await ledger.records(ids);
  const [failed] = await ledger.history(EVER, 1, { failedWith: FAILED_BY_SERVICE });
  const updates = doesUpdate(service.evidence);
  return {
    ...{ ...sums, readAt: now, lease, held, failing, rejected },
    service: { ...service, updates },
    // A service that updates has taken mapping and properties, even if no answer shows it.
    groups: updates ? { ...counts, unverified: 0 } : counts,
    owing: owing.map((record) => {
      const { user_group_id, wantedSince } = record;
      return { user_group_id, wantedSince, owed: owes(record) };
    }),
    tokenless: new Set(ids.filter((id) => !records.get(id)?.tokenFingerprint)),
    tokensVerifiedAt: tokens.verifiedAt,
    tables: { tokens: tokens.tables.map(shownTable), ledger: (await ledger.tables()).place },
    runs: await lastRuns(ledger, now),
    tooOld: await tooOld(ledger, settings.rotation, now),
    failedByService: failed ?? null,
    names: namesOf(records),
    missing: wentMissing(missing, counts.total, settings.deletion, now),
    refreshHold: await heldRefresh(ledger, settings, now),
  };
}

/** How many tokens that a sync rotates are too old. */
async function tooOld(
  ledger: LedgerView,
  { maxAgeMs }: StatusSettings["rotation"],
  now: Date,
): Promise<LedgerStatus["tooOld"]> {
  if (maxAgeMs === null) return null;
  const { counts } = await ledger.sums({ kind: "rotatable", due: new Date(now.getTime() - maxAgeMs) });
  return { maxAgeMs, tokens: counts.total };
}

async function lastRuns(ledger: LedgerView, now: Date): Promise<readonly RecordedRun[]> {
  let runs: readonly RecordedRun[] = [];
  for (const limit of READ_RUNS) {
    runs = await ledger.history(EVER, limit);
    if (runs.length < limit || tellEnough(runs, now)) break;
  }
  return runs;
}

/** Whether the runs go back for a day, to a good sync, and to before the last one's error. */
function tellEnough(runs: readonly RecordedRun[], now: Date): boolean {
  const results = runs.flatMap(({ result }) => result ?? []);
  const code = results[0]?.error?.code;
  return (
    runs.some(({ startedAt }) => now.getTime() - startedAt.getTime() > DAY) &&
    runs.some(isGoodSync) &&
    (code === undefined || results.some(({ error }) => error?.code !== code))
  );
}
