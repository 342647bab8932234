import type { Change } from "../core/change.ts";
import { counted } from "../core/counted.ts";
import { SyncError } from "../core/errors.ts";
import { tokenFingerprint } from "../core/group.ts";
import type { Clock } from "../ports/clock.ts";
import type { Durability } from "../ports/durability.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import type { StoredToken, TokenStore } from "../ports/token-store.ts";
import type { HeldLease } from "./lease.ts";
import type { RecentCommit, RecentCommits } from "./recent-commits.ts";

interface CheckPorts {
  readonly ledger: Ledger;
  readonly tokens: TokenStore;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly recent: RecentCommits;
  /** Once it aborts, a database that is away is not waited for as long. */
  readonly signal: AbortSignal;
}

/** A server that crashed may take a while to come back. */
const LONGEST_CHECK = 60_000;
const LONGEST_CHECK_AT_THE_END = 10_000;
const WAIT = 2_000;

/** Warns of settings by which a database forgets what it has committed. */
export async function warnOfRisks(durability: Durability, observe: Observe): Promise<void> {
  for (const { setting, safe } of await durability.risks()) {
    observe({
      kind: "warning",
      code: "COMMITS_AT_RISK",
      message: `the database has ${setting}: a crash of its server takes back what it committed last, and a rotated token may be lost`,
      hint: `set ${safe}, or find out after each crash which tokens are live: see docs/guarantees.md`,
    });
  }
}

/**
 * Compares what was committed right before a connection broke with what the databases have. Groups of which something is
 * gone count as under way again: the next sync asks the service for their tokens. Tokens that this very run has committed
 * are written again at once; of others there may be newer ones. Resolves to how many tokens were lost.
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
    if (changes.length > 0) await transaction.begin(changes, now);
    for (const [id] of begun) if (!begunAgain.has(id)) await transaction.beginRotation(id, now);
    // Another rotation of this run may have taken a group's token in hand meanwhile.
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
 * Does `work` and checks what it has committed where a connection broke meanwhile, also where it failed. Rejects with
 * COMMITS_LOST where something is gone and the work has no error of its own.
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

/** Checks before a run goes on. Rejects with COMMITS_LOST, and as the databases do. */
export async function insistOnCommits(run: CheckPorts & { readonly lease: HeldLease }): Promise<void> {
  const lost = await checkCommits(run, run.lease, run.clock.now());
  if (lost > 0) throw commitsLost(lost);
}

/** A database that is away is waited for, and the first time it is, that is told. */
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
      const longest = signal.aborted ? LONGEST_CHECK_AT_THE_END : LONGEST_CHECK;
      const left = begun + longest - clock.monotonic();
      if (error.code === "LEASE_LOST" || left < 0) {
        observe({ kind: "warning", ...unchecked(recent.suspects.size, error) });
        recent.checked(recent.suspects);
        return undefined;
      }
      if (attempt === 1)
        observe({ kind: "waiting", ms: left, reason: unreachable(recent.suspects.size, error) });
    }
    await clock.sleep(WAIT);
  }
}

interface Compared {
  /** Groups whose token the ledger doesn't vouch for: their rows may be gone, or under way. */
  readonly unsure: ReadonlySet<string>;
  /** Groups of whose tokens the ledger, or a store, has another one, or none. */
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

/** The change to begin again if the group's row may be gone; else an open rotation is enough. */
const intentOf = ({ change, token }: RecentCommit): Change | undefined =>
  change && (token === null || change.kind === "create") ? change : undefined;

const commitsLost = (lost: number): SyncError =>
  new SyncError(
    "COMMITS_LOST",
    `the database server crashed and lost the last tokens that it had committed, of ${counted(lost, "group")}`,
    {
      hint: "run `groupsync sync` now: it asks the service for the live tokens and stores them. See COMMITS_AT_RISK for the server's settings",
    },
  );

const unreachable = (count: number, { message }: SyncError): string =>
  `the connection broke, and the last commits of ${counted(count, "group")} can't be checked yet: ${message}`;

const unchecked = (count: number, { message }: SyncError) => ({
  code: "COMMITS_UNCHECKED",
  message: `the last commits of ${counted(count, "group")} could not be checked after a lost connection: ${message}`,
  hint: "if the database server crashed, run `groupsync rotate --all`",
});
