import { SyncError } from "../../core/failure/sync-error.ts";
import type { EventOf } from "../../core/record/next.ts";
import type { LostWrites, RecentWrites } from "../../core/record/recent-writes.ts";
import { printableId } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { Lease } from "../../ports/ledger/lease.ts";
import type { LeasePorts, LeaseSettings } from "./acquire-lease.ts";
import { withLease } from "./lease.ts";

interface Ports extends LeasePorts {
  readonly recent: RecentWrites;
}

/** How long to wait for a database that has failed, in milliseconds, and how long once the run is told to end. */
const LONGEST_WAIT = 60_000;
const LONGEST_WAIT_AT_THE_END = 10_000;
const PAUSE = 2_000;
const MOST_NAMED = 10;

/**
 * If the ledger's database went back in time, saves again what this process had saved, and records which groups are in doubt.
 * Call this before any other write. Resolves to what is in doubt; undefined if nothing is.
 */
export async function recordLostWrites(
  { ledger, clock, recent }: Ports,
  lease: Lease,
): Promise<SyncError | undefined> {
  const { lost } = recent;
  if (lost === null) return undefined;
  const now = clock.now();
  await ledger.write(lease, async (transaction) => {
    if (lost.mayBeMore) await transaction.changeAll({ kind: "doubted" }, now);
    const ids = [...lost.records.keys()];
    const doubted = ids.map((user_group_id): EventOf => ({ kind: "doubted", user_group_id }));
    // What another instance has recorded since is newer.
    const newer = lost.isOvertaken ? await transaction.change(doubted, now) : new Map<string, unknown>();
    const again = [...lost.records].filter(([id]) => !newer.has(id));
    await transaction.change(
      again.map(([user_group_id, last]): EventOf => ({ kind: "doubted", user_group_id, last })),
      now,
    );
  });
  recent.recovered();
  return rewound(lost);
}

/**
 * Call this after a run that has failed, because this process may be the only one that knows what the ledger has lost. Waits for
 * an unavailable database, and reports that once. Resolves to the error of the run: LEDGER_REWOUND if the ledger has lost anything.
 */
export async function keepLostWrites(
  ports: Ports,
  settings: LeaseSettings,
  signal: AbortSignal,
  error: SyncError,
): Promise<SyncError> {
  const { ledger, clock, observe, recent } = ports;
  const lease = { epoch: recent.epoch ?? "" };
  const begun = clock.monotonic();
  for (let isReported = false; ; isReported = true) {
    try {
      await ledger.prepare();
      const reason = await ledger.renewLease(lease, 0);
      if (reason?.code !== "LEDGER_REWOUND") return error;
      // An older state of the ledger may have the lease of this process.
      await ledger.releaseLease(lease);
      const alone = { ...settings, handsOver: false, asksNobody: true };
      const doubt = await withLease(ports, alone, NEVER, (held) => recordLostWrites(ports, held));
      return doubt ?? error;
    } catch (failure) {
      if (!(failure instanceof SyncError)) throw failure;
      const left = begun + (signal.aborted ? LONGEST_WAIT_AT_THE_END : LONGEST_WAIT) - clock.monotonic();
      if (left < 0) {
        observe({ kind: "warning", ...unchecked(failure) });
        return error;
      }
      const reason = `the run has failed, and what it wrote can't be checked yet: ${failure.message}`;
      if (!isReported) observe({ kind: "waiting", ms: left, reason });
    }
    await clock.sleep(PAUSE);
  }
}

const NEVER = new AbortController().signal;

function rewound({ records, mayBeMore }: LostWrites): SyncError {
  const ids = [...records.keys()].map((id) => printableId(id));
  const first = ids.slice(0, MOST_NAMED).join(", ");
  const lost = first && ` and lost writes about ${quantity(records.size, "group")}, among them ${first}`;
  const what = mayBeMore ? "is another one than before, or went" : "went";
  const message = `the ledger's database ${what} back in time${lost}; ${mayBeMore ? "all" : "these"} groups are in doubt`;
  return new SyncError("LEDGER_REWOUND", message, {
    hint: "`groupsync sync` asks the service for them and stores their live tokens. If a database was moved without any loss, run `groupsync sync --acknowledge-switchover`",
  });
}

const unchecked = ({ message }: SyncError) => ({
  code: "COMMITS_UNCHECKED",
  message: `the run has failed, and whether the ledger has all that it wrote could not be checked: ${message}`,
  hint: "if the database server crashed or failed over, run `groupsync sync --refresh`",
});
