import { SyncError } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import type { Change } from "../../core/plan/change.ts";
import type { EventOf } from "../../core/record/next.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Durability, Ledger } from "../../ports/ledger/ledger.ts";
import type { Observe } from "../../ports/observer.ts";
import type { StoredToken, TokenStore } from "../../ports/token-store.ts";
import type { HeldLease } from "../lease/lease.ts";
import type { RecentCommit, RecentCommits } from "./recent-commits.ts";

interface CheckPorts {
  readonly ledger: Ledger;
  readonly tokens: TokenStore;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly recent: RecentCommits;
  /** Once it aborts, the wait for an unavailable database is shorter. */
  readonly signal: AbortSignal;
}

/** How long to wait for a crashed server to come back, in milliseconds. */
const LONGEST_WAIT = 60_000;
const LONGEST_WAIT_AT_THE_END = 10_000;
const PAUSE = 2_000;

/** Warns about settings with which a database may lose commits in a crash. */
export async function warnOfRisks(durability: Durability, observe: Observe): Promise<void> {
  for (const { setting, safe } of await durability.risks()) {
    observe({
      kind: "warning",
      code: "COMMITS_AT_RISK",
      message: `the database has ${setting}: a crash of its server takes back what it committed last, and a rotated token may be lost`,
      hint: `set ${safe}, or find out after each crash which tokens are live: see docs/guarantees.md`,
      isStanding: true,
    });
  }
}

/**
 * Compares what was committed right before a connection broke with what the databases have. Groups with a lost commit count as
 * under way again, so the next sync asks the service for their tokens. A lost token of this run is written again at once; a
 * token of an earlier run is not, because another instance may have made a newer one. Resolves to the number of lost tokens.
 */
export async function checkCommits(
  { ledger, tokens, recent }: CheckPorts,
  lease: HeldLease,
  now: Date,
): Promise<number> {
  const suspects = new Map(recent.suspects);
  if (suspects.size === 0) return 0;
  const stored = new Map<string, StoredToken>();
  for (const [id, { token }] of suspects) if (token) stored.set(id, token);
  const { unsure, lost } = await lostOf(stored, ledger, tokens);
  const begun = [...suspects].filter(([id, { token }]) => token === null || unsure.has(id));
  await ledger.write(lease, async (transaction) => {
    const changes = begun.flatMap(([, commit]) => intentOf(commit) ?? []);
    const begunAgain = new Set(changes.map(({ user_group_id }) => user_group_id));
    const events = changes.map((change): EventOf => {
      return { kind: "begun", user_group_id: change.user_group_id, change };
    });
    for (const [id] of begun)
      if (!begunAgain.has(id)) events.push({ kind: "rotation_begun", user_group_id: id });
    if (events.length > 0) await transaction.change(events, now);
    // Leave out groups that have a newer commit since the check began: a rotation of this run is at work on them.
    const own = lost.filter(
      (id) => !suspects.get(id)?.isEarlier && recent.suspects.get(id) === suspects.get(id),
    );
    const again = own.flatMap((id) => stored.get(id) ?? []);
    if (again.length > 0)
      await tokens.write(again, transaction, { assertHeld: () => lease.assertHeld(), asFarAsPossible: true });
  });
  recent.checked(suspects);
  return lost.length;
}

/**
 * Does `work`, then checks its commits if a connection broke meanwhile, even if `work` failed. Rejects with the error of `work`,
 * or else with COMMITS_LOST if a commit is lost.
 */
export async function withCommitsKept(
  ports: CheckPorts,
  lease: HeldLease,
  work: () => Promise<void>,
): Promise<void> {
  let lost: SyncError | undefined;
  try {
    await work();
  } finally {
    lost = await lease.awaitAlways(checkAtEnd(ports, lease));
  }
  if (lost) throw lost;
}

/** Checks the commits before the run goes on. Rejects with COMMITS_LOST, and as the databases do. */
export async function insistOnCommits(run: CheckPorts & { readonly lease: HeldLease }): Promise<void> {
  const lost = await checkCommits(run, run.lease, run.clock.now());
  if (lost > 0) throw commitsLost(lost);
}

/** Waits for an unavailable database, and reports that once. */
async function checkAtEnd(ports: CheckPorts, lease: HeldLease): Promise<SyncError | undefined> {
  const { clock, recent, observe, signal } = ports;
  if (recent.suspects.size === 0) return undefined;
  const begun = clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    try {
      const lost = await checkCommits(ports, lease, clock.now());
      return lost === 0 ? undefined : commitsLost(lost);
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      const longest = signal.aborted ? LONGEST_WAIT_AT_THE_END : LONGEST_WAIT;
      const left = begun + longest - clock.monotonic();
      if (error.code === "LEASE_LOST" || left < 0) {
        observe({ kind: "warning", ...unchecked(recent.suspects.size, error) });
        recent.checked(recent.suspects);
        return undefined;
      }
      if (attempt === 1)
        observe({ kind: "waiting", ms: left, reason: unreachable(recent.suspects.size, error) });
    }
    await clock.sleep(PAUSE);
  }
}

interface Compared {
  /** Groups whose token the ledger doesn't vouch for: their rows may be lost, or the groups are under way. */
  readonly unsure: ReadonlySet<string>;
  /** Groups for which the ledger or a token store has another token than the committed one, or none. */
  readonly lost: readonly string[];
}

async function lostOf(
  stored: ReadonlyMap<string, StoredToken>,
  ledger: Ledger,
  tokens: TokenStore,
): Promise<Compared> {
  if (stored.size === 0) return { unsure: new Set(), lost: [] };
  const expected = new Map([...stored].map(([id, { token }]) => [id, tokenFingerprint(token)]));
  const vouched = await ledger.vouchedTokens({ limit: stored.size, of: [...stored.keys()] });
  const known = new Map(vouched.map((entry) => [entry.user_group_id, entry.tokenFingerprint]));
  const lagging = await tokens.lagging(expected);
  const isGone = (id: string): boolean => known.has(id) && known.get(id) !== expected.get(id);
  const lost = [...stored.keys()].filter((id) => isGone(id) || lagging.has(id));
  const unvouched = [...stored.keys()].filter((id) => !known.has(id));
  return { unsure: new Set([...lost, ...unvouched]), lost };
}

/** The change whose intent has to be recorded again: the group's row may be lost. Otherwise an open rotation is enough. */
const intentOf = ({ change, token }: RecentCommit): Change | undefined =>
  change && (token === null || change.kind === "create") ? change : undefined;

const commitsLost = (lost: number): SyncError =>
  new SyncError(
    "COMMITS_LOST",
    `the database server crashed and lost the last tokens that it had committed, of ${quantity(lost, "group")}`,
    {
      hint: "run `groupsync sync` now: it asks the service for the live tokens and stores them. See COMMITS_AT_RISK for the server's settings",
    },
  );

const unreachable = (count: number, { message }: SyncError): string =>
  `the connection broke, and the last commits of ${quantity(count, "group")} can't be checked yet: ${message}`;

const unchecked = (count: number, { message }: SyncError) => ({
  code: "COMMITS_UNCHECKED",
  message: `the last commits of ${quantity(count, "group")} could not be checked after a lost connection: ${message}`,
  hint: "if the database server crashed, run `groupsync rotate --all`",
});
