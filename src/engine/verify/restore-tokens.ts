import { allEnded } from "../../core/failure/all-ended.ts";
import { intendsRemoval } from "../../core/group/ledger-group.ts";
import {
  type ConfirmedGroup,
  confirmedGroup,
  isVouchedFor,
  knownGroup,
} from "../../core/record/candidates.ts";
import { storingFailed } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Secret } from "../../core/secret/secret.ts";
import { holding } from "../lease/keys.ts";
import { getOf } from "../loop/make-changes.ts";
import { type Applying, type Work, workThrough } from "../loop/work-through.ts";
import { candidatePages } from "../plan/candidate-pages.ts";
import { reportFailure } from "../report/tally.ts";

/** Groups per page. Each takes one read of each store, and if a store's quota runs out, the whole page is read again. */
const BATCH = 250;

/** Groups whose tokens only the service can tell, and that were not restored. */
export interface Unrestored {
  /** Their GETs failed, and the failures were reported. */
  readonly failedGets: ReadonlySet<string>;
  /** No GET was sent, because it could change the group. */
  readonly unaskable: ReadonlySet<string>;
}

/**
 * Writes each token that the ledger vouches for to the stores that lack it. The token comes from a store that has it. It
 * comes from a GET if no store has it, or if a store has another token: the ledger may be older than that token, and only
 * the service knows which one is live. `select` chooses groups of a page.
 */
export async function restoreTokens(
  of: "all" | "not everywhere" | readonly string[],
  run: Applying,
  select = (page: readonly GroupRecord[]): readonly GroupRecord[] => page,
): Promise<Unrestored> {
  const failedGets = new Set<string>();
  const unaskable = new Set<string>();
  const asking = noting(failedGets, run);
  async function* lost(): AsyncGenerator<Work> {
    for await (const page of candidatePages(run.ledger, { kind: "vouched", of }, BATCH)) {
      if (run.signal.aborted) return;
      const ids = page.map(({ user_group_id }) => user_group_id);
      const left = await holding(run.keys, ids, async () => copyAll(select(await upToDate(page, run)), run));
      for (const record of left) {
        const { user_group_id } = record;
        if (knownGroup(record) === null) unaskable.add(user_group_id);
        else yield getOf({ why: "restores", user_group_id, groupOf: lostGroup }, asking);
      }
    }
  }
  await workThrough(lost(), run);
  return { failedGets, unaskable };
}

/**
 * Settles rotations and updates that an earlier run left under way and that this run's plan doesn't continue, for example
 * because the row is rejected now. The stored token may be dead, so a GET asks for the live token. The GET sends the group
 * as the service last confirmed it, which settles the update as well. Resolves to the groups whose GET failed; the failures
 * were reported.
 */
export async function settleCalls(ids: readonly string[], run: Applying): Promise<ReadonlySet<string>> {
  const failedGets = new Set<string>();
  const asking = noting(failedGets, run);
  // It may be settled since the plan was made, for example by a removal.
  const groupOf = (record: GroupRecord): ConfirmedGroup | null =>
    record.intent !== null && !intendsRemoval(record.intent) ? confirmedGroup(record) : null;
  async function* left(): AsyncGenerator<Work> {
    for (const user_group_id of ids) yield getOf({ why: "restores", user_group_id, groupOf }, asking);
  }
  await workThrough(left(), run);
  return failedGets;
}

/** Null if somebody else has restored the token meanwhile: `recordLost` has noted that it is lost. */
const lostGroup = (record: GroupRecord): ConfirmedGroup | null =>
  isVouchedFor(record) && record.failures.storing !== null ? knownGroup(record) : null;

/** The run, which notes the groups whose failure it reports. */
const noting = (failed: Set<string>, run: Applying): Applying => ({
  ...run,
  observe: (event) => {
    if (event.kind === "failed") failed.add(event.user_group_id);
    run.observe(event);
  },
});

/** What the page says of a tenant is outdated if somebody has looked the tenant up meanwhile: reads that part again. */
async function upToDate(
  page: readonly GroupRecord[],
  { ledger, keys }: Pick<Applying, "ledger" | "keys">,
): Promise<readonly GroupRecord[]> {
  const isOutdated = ({ user_group_id }: GroupRecord): boolean => keys.wasLookedUp(user_group_id);
  const again = page.filter(isOutdated).map(({ user_group_id }) => user_group_id);
  const records = [
    ...page.filter((record) => !isOutdated(record)),
    ...(again.length > 0 ? await ledger.records(again) : new Map<string, GroupRecord>()).values(),
  ];
  return records.filter(isVouchedFor);
}

/**
 * Copies tokens to the stores that lack them, and records which tokens all stores have. Resolves to the groups whose tokens only the
 * service can tell.
 */
async function copyAll(vouched: readonly GroupRecord[], run: Applying): Promise<readonly GroupRecord[]> {
  if (vouched.length === 0) return [];
  const expected = new Map(
    vouched.map(({ user_group_id, tokenFingerprint }) => [user_group_id, tokenFingerprint ?? ""]),
  );
  const lagging = await run.tokens.lagging(expected, run.signal);
  if (lagging.size > 0) run.observe({ kind: "restoring", tokens: lagging.size });
  const lost: GroupRecord[] = [];
  await allEnded(
    vouched.map((record) => {
      const copies = lagging.get(record.user_group_id);
      if (copies === undefined) return recordStored(record, run);
      if (copies.token && !copies.isContradicted) return copy(record, copies.token, run);
      lost.push(record);
      return recordLost(record, copies.isContradicted ? CONTRADICTED : LOST, run);
    }),
  );
  return lost;
}

/** Writes a token to the stores that lack it, and records whether all stores have it now. */
async function copy(record: GroupRecord, token: Secret, run: Applying): Promise<void> {
  const { committer, clock, tally, observe } = run;
  const { user_group_id, failures } = record;
  const { refusal } = await committer.commit({
    user_group_id,
    token,
    isKnown: true,
    events: (refused) => [
      refused ? storingFailed(user_group_id, failures.storing, refused, clock.now()) : STORED,
    ],
  });
  if (refusal) return reportFailure(user_group_id, refusal, run);
  tally.counts.restored++;
  observe({ kind: "restored", user_group_id });
}

async function recordStored(
  { user_group_id, failures }: GroupRecord,
  { committer }: Applying,
): Promise<void> {
  if (failures.storing) await committer.commit({ user_group_id, events: () => [STORED] });
}

/** Call this before the GET: if the run dies before it is answered, nothing else tells the next sync of the lost token. */
async function recordLost(
  record: GroupRecord,
  problem: string,
  { committer, clock }: Applying,
): Promise<void> {
  const { user_group_id, failures } = record;
  const isAskable = knownGroup(record) !== null;
  if (isAskable && failures.storing) return;
  const failure = { code: "TOKEN_NOT_EVERYWHERE", message: isAskable ? problem : `${problem}${UNASKABLE}` };
  const event = storingFailed(user_group_id, failures.storing, failure, clock.now());
  await committer.commit({ user_group_id, events: () => [event] });
}

const STORED = { kind: "storing_ended", failure: null } as const;

const LOST = "no token store has the token of this group";
const CONTRADICTED =
  "a token store has another token for this group than the ledger knows, and only the service can tell which one is live";
const UNASKABLE =
  ", and asking the service for it could change the group, because only the group's name at the service is known; a sync with service.update: upsert asks for it";
