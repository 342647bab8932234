import { describe, expect, test } from "vitest";
import { NO_EVIDENCE } from "../../../src/core/apply/update-evidence.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import type { EventOf } from "../../../src/core/record/next.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { LedgerView } from "../../../src/ports/ledger/ledger.ts";
import {
  aDelete,
  aDeleted,
  anApplied,
  anApply,
  aReadHistory,
  aRejection,
  aRotation,
  aScopeState,
} from "../../builders/groups.ts";
import { begun, ended } from "../../builders/records.ts";
import { collect } from "../collect.ts";
import {
  begin,
  carryOut,
  inDays,
  LATER,
  type LedgerDatabase,
  type LedgerPlace,
  leaseOf,
  leave,
  NOW,
  type Opened,
  opened,
  prepared,
  runAt,
  take,
  write,
} from "./rig.ts";

const FIRST_TOKEN = tokenFingerprint(new Secret("ugt_acme"));

/** Something in every table that has scopes. */
async function fill(at: Opened): Promise<void> {
  await runAt(at, "sync", NOW);
  await carryOut(at, anApplied());
  await take(at, [aRotation()], LATER);
  const gone = { user_group_id: "gone" };
  await carryOut(at, anApplied({ change: anApply(gone) }));
  await begin(at, aDelete(gone));
  await take(at, [ended(aDeleted({ change: aDelete(gone) }))]);
  await begin(at, anApply({ user_group_id: "under way" }));
  await take(at, [{ kind: "probed", user_group_id: "canary", baseUrl: "https://dashboards.example.com" }]);
  await write(at, async (transaction) => {
    await transaction.recordScope({ service: { baseUrl: "https://it", teamId: 7, evidence: NO_EVIDENCE } });
    await transaction.recordScope({ history: aReadHistory() });
    await transaction.recordRejections([aRejection()], [], NOW);
    await transaction.recordScope({ tokens: { complete: ["the table tokens"], verifiedAt: NOW } });
  });
  await at.ledger.putRequest("acme", "somebody", 60_000);
}

/** As `groupsync forget` does it. */
const forget = (at: Opened): Promise<void> =>
  write(at, async (transaction) => {
    const run = await transaction.startRun("forget", LATER);
    await transaction.forgetScope();
    await transaction.finishRun(run, { outcome: "ok", counts: noCounts(), requests: 0, error: null }, LATER);
  });

/** How the ledger forgets a scope. */
export function ledgerScopesContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: a scope`, () => {
    test("is there from its first run on, and not before", async () => {
      const at = await opened(makePlace);
      expect((await at.ledger.tables()).scopes).toEqual([]);
      await runAt(at, "sync", NOW);
      expect((await at.ledger.tables()).scopes).toEqual(["default"]);
    });

    test("is forgotten as a whole, but for the run that forgets it", async () => {
      const at = await opened(makePlace);
      await fill(at);
      await forget(at);
      const { ledger } = at;
      expect((await ledger.tables()).scopes).toEqual([]);
      expect(await collect(ledger.groups())).toEqual([]);
      expect((await ledger.scope()).service).toMatchObject({
        baseUrl: null,
        teamId: null,
        evidence: NO_EVIDENCE,
      });
      expect((await ledger.journalSum(["delete"], new Date(0))).count).toBe(0);
      expect(await ledger.requests()).toEqual([]);
      expect(await ledger.journalOf("acme")).toEqual({ removals: [], formerTokens: [] });
      const runs = await ledger.history(new Date(0), 10);
      expect(runs).toMatchObject([{ command: "forget", finishedAt: LATER, result: { outcome: "ok" } }]);
    });

    test("takes no write of a former holder once it is forgotten, even if the name is in use again", async () => {
      const at = await opened(makePlace);
      await fill(at);
      const { ledger, lease: former } = at;
      await ledger.releaseLease(former);
      const forgetting = await leaseOf(ledger, "who forgets");
      await forget({ ...at, lease: forgetting });
      const late = { ...at, lease: former };
      await expect(carryOut(late, anApplied())).rejects.toMatchObject({ code: "LEASE_LOST" });
      const [holder] = await ledger.history(new Date(0), 1);
      expect(holder?.command).toBe("forget");
      const again = await prepared(at.database);
      await again.releaseLease(forgetting);
      await leaseOf(again, "who begins anew");
      await expect(carryOut(late, anApplied())).rejects.toMatchObject({ code: "LEASE_LOST" });
      expect(await collect(ledger.groups())).toEqual([]);
    });
  });
}

/** Whatever is read of a ledger in which nothing was written. */
export async function expectEmpty(view: LedgerView): Promise<void> {
  const { readAt, ledgerId, lease } = await view.scope();
  expect(await view.scope()).toEqual({ ...aScopeState({ ledgerId, lease }), readAt: expect.any(Date) });
  expect(readAt.getTime()).toBeGreaterThan(0);
  expect(await view.rejections()).toEqual([]);
  expect(await collect(view.groups())).toEqual([]);
  expect(await view.buckets({ unverifiedAtRest: true })).toEqual([]);
  expect(await view.records(["acme"])).toEqual(new Map());
  expect(await view.journalOf("acme")).toEqual({ removals: [], formerTokens: [] });
  expect(await view.candidates({ kind: "owing" }, { limit: 1 })).toEqual([]);
  expect((await view.sums({ kind: "rotatable", due: LATER })).counts.total).toBe(0);
  expect(await view.journalSum(["delete", "gone"], new Date(0))).toEqual({ count: 0, last: null });
  expect((await view.sharedTokens(new Map([["b", FIRST_TOKEN]]), "all")).size).toBe(0);
  expect(await view.history(new Date(0), 1)).toEqual([]);
  expect(await view.sums()).toMatchObject({
    counts: { total: 0 },
    missing: [],
    oldestToken: null,
    oldestUnsynced: null,
  });
}

/** How a ledger in a database, with several scopes, forgets one of them. */
export function ledgerScopeTablesContract(name: string, makeDatabase: () => Promise<LedgerDatabase>): void {
  describe(`${name}: one of two scopes`, () => {
    test("is forgotten in every table, and not a row of the other one changes", async () => {
      const staging = await opened(makeDatabase, "staging");
      await fill(staging);
      const { database } = staging;
      const other = await prepared(database, "production");
      await fill({ database, ledger: other, lease: await leaseOf(other) });
      expect((await other.tables()).scopes).toEqual(["production", "staging"]);
      const linesOf = async (scope: string) =>
        (await database.dump()).split("\n").filter((line) => line.includes(scope));
      const before = await linesOf("production");
      expect(before).toHaveLength((await linesOf("staging")).length);
      // Of the groups, and one or more of each of the seven other tables that have scopes.
      expect(before.length).toBeGreaterThan(8);

      await forget(staging);
      expect((await other.tables()).scopes).toEqual(["production"]);
      expect(await linesOf("production")).toEqual(before);
      // The lease, and the run that has forgotten the scope.
      expect(await linesOf("staging")).toHaveLength(2);
      expect((await other.scope()).ledgerId).not.toBeNull();
    });

    test("is an empty ledger as long as nothing is written there, and no write there changes a row of the other one", async () => {
      const full = await opened(makeDatabase, "full");
      await fill(full);
      const { database } = full;
      const ledger = await prepared(database, "empty");
      const at = { database, ledger, lease: await leaseOf(ledger) };
      await expectEmpty(ledger);
      const linesOf = async () => (await database.dump()).split("\n").filter((line) => line.includes("full"));
      const before = await linesOf();

      await fill(at);
      const ids = ["acme", "under way", "gone"];
      const of = (kind: "returned" | "change_dropped" | "forgotten"): EventOf[] =>
        ids.map((user_group_id) => ({ kind, user_group_id }));
      await leave(at, "absent", { ms: 0, reads: 1 }, ids);
      await take(at, [
        ...of("returned"),
        { kind: "storing_ended", user_group_id: "acme", failure: null },
        { kind: "begun", change: { kind: "rotate", user_group_id: "acme" }, user_group_id: "acme" },
        ...of("change_dropped"),
        begun(anApply()),
        { kind: "unsent", user_group_id: "acme", before: null },
        ...of("forgotten"),
      ]);
      await write(at, async (to) => {
        await to.recordScope({ answeredAt: NOW });
        await to.recordRejections([], [aRejection()], NOW);
        await to.recordScope({ refreshApproved: "1" });
      });
      await take(at, [{ kind: "held", user_group_id: "acme", removal: "delete" }]);
      await carryOut(at, aDeleted());
      await runAt(at, "sync", inDays(1_000));
      expect(await linesOf()).toEqual(before);
    });

    test("has groups that are the other one's too if service, team and id are the same", async () => {
      const staging = await opened(makeDatabase, "staging");
      const { database } = staging;
      const other = await prepared(database, "production");
      const production = { database, ledger: other, lease: await leaseOf(other) };
      const ids = (at: Opened, ...all: string[]) =>
        begin(at, ...all.map((user_group_id) => anApply({ user_group_id })));
      const bind = (at: Opened, baseUrl: string, teamId: number) =>
        write(at, (transaction) =>
          transaction.recordScope({ service: { baseUrl, teamId, evidence: NO_EVIDENCE } }),
        );
      await ids(staging, "a", "b", "c", "only here");
      await ids(production, "b", "c", "only there");
      const found = (baseUrl: string, teamId: number | null) =>
        staging.ledger.sharedGroups({ baseUrl, teamId });
      expect(await found("https://it", 7)).toEqual([]);
      await bind(production, "https://it", 7);
      const shared = [{ scope: "production", count: 2, first: "b" }];
      expect(await found("https://it", 7)).toEqual(shared);
      expect(await found("https://it", null)).toEqual(shared);
      expect(await found("https://it", 8)).toEqual([]);
      expect(await found("https://another", 7)).toEqual([]);
      await bind(staging, "https://it", 7);
      expect(await found("https://it", 7)).toEqual(shared);
      expect(await other.sharedGroups({ baseUrl: "https://it", teamId: 7 })).toEqual([
        { scope: "staging", count: 2, first: "b" },
      ]);
    });
  });
}
