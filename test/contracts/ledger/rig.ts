import type { Outcome } from "../../../src/core/apply/outcome.ts";
import type { AbsenceKind, GraceClock, LedgerGroup } from "../../../src/core/group/ledger-group.ts";
import type { Change } from "../../../src/core/plan/change.ts";
import type { EventOf } from "../../../src/core/record/next.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { Lease } from "../../../src/ports/ledger/lease.ts";
import type { Ledger, LedgerTransaction, LedgerView } from "../../../src/ports/ledger/ledger.ts";
import { begun, ended } from "../../builders/records.ts";
import { collect } from "../collect.ts";

/** Where the ledgers of one test are kept. Whatever is opened in it is closed when the test is over. */
export interface LedgerPlace {
  ledger(scope?: string): Ledger;
  view(scope?: string): LedgerView;
  /** Lets the database learn how little its tables hold: it then reads them without their indexes. */
  analyze(): Promise<void>;
}

/** A real database. */
export interface LedgerDatabase extends LedgerPlace {
  tables(): Promise<readonly string[]>;
  /** Everything that the tables hold, as text. */
  dump(): Promise<string>;
  /** As if another groupsync had brought the ledger to this version. */
  setVersion(version: number): Promise<void>;
  /** Resolves when a session waits for another one's lock. */
  untilBlocked(): Promise<void>;
  /** Ends every session but those of the test itself. */
  cut(): Promise<void>;
}

export const NOW = new Date("2026-03-01T12:00:00.123Z");
export const LATER = new Date("2026-03-02T12:00:00Z");
export const inDays = (days: number, ms = 0): Date => new Date(NOW.getTime() + days * 24 * 3_600_000 + ms);
export const TTL = 60_000;
/** A lease of no length has expired when anybody looks at it. */
export const EXPIRED = 0;

export async function prepared(place: LedgerPlace, scope?: string): Promise<Ledger> {
  const ledger = place.ledger(scope);
  await ledger.prepare();
  return ledger;
}

export async function leaseOf(ledger: Ledger, holder = "me", ttlMs = TTL): Promise<Lease> {
  const attempt = await ledger.acquireLease(holder, ttlMs);
  if (attempt.kind !== "acquired") throw new Error("the lease should be free");
  return attempt.lease;
}

/** A ledger that is ready to be written, and its lease. */
export interface Opened<Place extends LedgerPlace = LedgerPlace> {
  readonly database: Place;
  readonly ledger: Ledger;
  readonly lease: Lease;
}

export async function opened<Place extends LedgerPlace>(
  make: () => Promise<Place>,
  scope?: string,
): Promise<Opened<Place>> {
  const database = await make();
  const ledger = await prepared(database, scope);
  const lease = await leaseOf(ledger);
  return { database, ledger, lease };
}

export const write = <T>(
  { ledger, lease }: Opened,
  body: (transaction: LedgerTransaction) => Promise<T>,
): Promise<T> => ledger.write(lease, body);

/** Records these events. */
export const take = (
  at: Opened,
  events: readonly EventOf[],
  now = NOW,
): Promise<ReadonlyMap<string, GroupRecord>> => write(at, (transaction) => transaction.change(events, now));

export const begin = (at: Opened, ...changes: Change[]): Promise<ReadonlyMap<string, GroupRecord>> =>
  take(at, changes.map(begun));

/** As a run does it: the intent, then the outcome. */
export async function carryOut(at: Opened, outcome: Outcome, retryAt?: Date): Promise<void> {
  await begin(at, outcome.change);
  await take(at, [ended(outcome, retryAt && { retryAt })]);
}

/** A run that begins and ends at this time. */
export const runAt = (at: Opened, command: string, time: Date): Promise<void> =>
  write(at, async (transaction) => {
    const run = await transaction.startRun(command, time);
    await transaction.finishRun(run, { outcome: "ok", counts: noCounts(), requests: 0, error: null }, time);
  });

export const returned = (user_group_id: string): EventOf => ({ kind: "returned", user_group_id });

/** Their tenants are gone, since this point of the grace clock. */
export const leave = (
  at: Opened,
  absence: AbsenceKind,
  clock: GraceClock,
  ids: readonly string[],
  now = NOW,
): Promise<unknown> =>
  take(
    at,
    ids.map((user_group_id) => ({ kind: "left", user_group_id, absence, clock })),
    now,
  );

export const groupsOf = ({ ledger }: Opened): Promise<LedgerGroup[]> => collect(ledger.groups());

export async function groupOf(at: Opened, id = "acme"): Promise<LedgerGroup | undefined> {
  return (await groupsOf(at)).find((group) => group.user_group_id === id);
}
