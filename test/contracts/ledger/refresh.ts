import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import { type RefreshCandidate, refreshCandidate } from "../../../src/core/record/candidates.ts";
import { aFailed, aNotUpdated, anApplied, anApply, aRotation } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import {
  begin,
  carryOut,
  hold,
  inDays,
  LATER,
  type LedgerPlace,
  leave,
  NOW,
  type Opened,
  opened,
  take,
  write,
} from "./rig.ts";

const SOON = inDays(1);
/** As if no group had been verified. */
const EVER = { since: inDays(10_000), now: inDays(10_000) };
const aRefresh = (id: string) => anApply({ kind: "update", user_group_id: id, refreshes: true });

/** Which groups a refresh may ask for, and what the ledger keeps of its answers. */
export function ledgerRefreshContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  const withGroups = async (...ids: string[]): Promise<Opened> => {
    const at = await opened(makePlace);
    for (const user_group_id of ids)
      await recordAt(at, anApplied({ change: anApply({ user_group_id }) }), NOW);
    return at;
  };

  describe(`${name}: groups that can be refreshed`, () => {
    test("were verified before that time, the one that was verified longest ago first, on pages of any size", async () => {
      const at = await withGroups("b", "a", "c");
      await recordAt(at, anApplied({ kind: "updated", change: aRefresh("a") }), LATER);
      expect(await timesIn(at)).toEqual([
        ["b", NOW],
        ["c", NOW],
        ["a", LATER],
      ]);
      const unverified = { since: LATER, now: LATER };
      expect((await candidatesOf(at, unverified)).map(({ user_group_id }) => user_group_id)).toEqual([
        "b",
        "c",
      ]);
      expect(await countOf(at, unverified)).toBe(2);
      expect(await countOf(at, { since: NOW, now: LATER })).toBe(0);
      const ever = { kind: "refreshable", ...EVER } as const;
      const [first] = await at.ledger.candidates(ever, { limit: 1 });
      const next = await at.ledger.candidates(ever, { limit: 1, after: first });
      expect(next.map(({ user_group_id }) => user_group_id)).toEqual(["c"]);
      const named = await at.ledger.candidates({ ...ever, of: ["a", "unknown"] }, { limit: 9 });
      expect(named.map(({ user_group_id }) => user_group_id)).toEqual(["a"]);
    });

    test("come as the service confirmed them", async () => {
      const at = await withGroups("acme");
      const change = anApply({ user_group_id: "acme" });
      const { group, fingerprint, row, dataSourceId } = change;
      expect(await candidatesOf(at)).toEqual([
        { user_group_id: "acme", verifiedAt: NOW, group, fingerprint, row, dataSourceId },
      ]);
    });

    test("are at rest, and their tenants are there", async () => {
      const at = await withGroups(
        "absent",
        "failing",
        "held",
        "lacking",
        "named",
        "rest",
        "under way",
        "unrotated",
      );
      await leave(at, "absent", { ms: 0, reads: 1 }, ["absent"]);
      await carryOut(at, aFailed({ change: anApply({ kind: "update", user_group_id: "failing" }) }), LATER);
      await hold(at, [{ kind: "replace", user_group_id: "held" }]);
      await carryOut(at, aFailed({ change: aRefresh("lacking") }), LATER);
      await carryOut(at, aNotUpdated({ change: aRefresh("named") }), LATER);
      await begin(at, aRefresh("under way"));
      const refused = { code: "REFUSED", message: "POST was answered HTTP 422", retryAt: LATER };
      await take(at, [aRotation({ user_group_id: "unrotated", tokenFingerprint: null, failure: refused })]);
      expect((await candidatesOf(at)).map(({ user_group_id }) => user_group_id)).toEqual([
        "rest",
        "unrotated",
      ]);
      expect(await countOf(at, EVER)).toBe(2);
    });
  });

  describe(`${name}: when a group was verified`, () => {
    test("tells nothing if that is yet to come", async () => {
      const at = await withGroups("now");
      await recordAt(at, anApplied({ change: anApply({ user_group_id: "later" }) }), LATER);
      const unverified = { since: NOW, now: new Date(LATER.getTime() - 1) };
      expect((await candidatesOf(at, unverified)).map(({ user_group_id }) => user_group_id)).toEqual([
        "later",
      ]);
      expect(await countOf(at, unverified)).toBe(1);
    });
  });

  describe(`${name}: a refresh`, () => {
    test("counts a group that was gone apart from removals, until the operator approves it", async () => {
      const at = await withGroups("a", "b", "c");
      await runOf(at);
      const gone = (id: string) => anApplied({ change: aRefresh(id), drift: ["gone"] });
      await recordAt(at, gone("a"), NOW);
      await recordAt(at, gone("b"), SOON);
      await recordAt(at, anApplied({ kind: "updated", change: aRefresh("c"), drift: ["token"] }), SOON);
      expect(await at.ledger.removalsSince(NOW)).toBe(0);
      expect(await at.ledger.goneSince(NOW)).toEqual({ count: 2, last: { user_group_id: "b", at: SOON } });
      expect(await at.ledger.goneSince(SOON)).toMatchObject({ count: 1 });
      await write(at, (transaction) => transaction.approveRefresh(SOON));
      expect(await at.ledger.goneSince(NOW)).toEqual({ count: 0, last: null });
    });

    test("counts no group after an approval that a clock which was ahead found gone before it", async () => {
      const at = await withGroups("a", "b");
      await runOf(at);
      const gone = (id: string) => anApplied({ change: aRefresh(id), drift: ["gone"] });
      await recordAt(at, gone("a"), inDays(3));
      await write(at, (transaction) => transaction.approveRefresh(NOW));
      expect(await at.ledger.goneSince(NOW)).toMatchObject({ count: 0 });
      await recordAt(at, gone("b"), SOON);
      expect(await at.ledger.goneSince(NOW)).toMatchObject({ count: 1 });
    });
  });
}

/** The ledger has read the source once. */
const runOf = (at: Opened): Promise<void> =>
  write(at, async (transaction) => transaction.recordScope({ history: (await at.ledger.scope()).history }));

const recordAt = async (at: Opened, outcome: Outcome, now: Date): Promise<void> => {
  await begin(at, outcome.change);
  await take(at, [ended(outcome, { retryAt: inDays(2) })], now);
};

const candidatesOf = async ({ ledger }: Opened, unverified = EVER): Promise<readonly RefreshCandidate[]> => {
  const records = await ledger.candidates({ kind: "refreshable", ...unverified }, { limit: 100 });
  return records.flatMap((record) => refreshCandidate(record) ?? []);
};

const countOf = ({ ledger }: Opened, unverified: typeof EVER): Promise<number> =>
  ledger.candidateCount({ kind: "refreshable", ...unverified });

const timesIn = async (at: Opened): Promise<[id: string, verifiedAt: Date][]> =>
  (await candidatesOf(at)).map(({ user_group_id, verifiedAt }) => [user_group_id, verifiedAt]);
