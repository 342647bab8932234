import { describe, expect, test } from "vitest";
import { NO_READ_HISTORY } from "../../../src/core/plan/read-history.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import {
  aDelete,
  aDeleted,
  anApplied,
  anApply,
  aReadHistory,
  aRejection,
  aRotation,
} from "../../builders/groups.ts";
import { collect } from "../collect.ts";
import {
  begin,
  carryOut,
  LATER,
  type LedgerDatabase,
  type LedgerPlace,
  leaseOf,
  NOW,
  type Opened,
  opened,
  prepared,
  runAt,
  write,
} from "./rig.ts";

/** Something in every table that has scopes. */
async function fill(at: Opened): Promise<void> {
  await runAt(at, "sync", NOW);
  await carryOut(at, anApplied());
  await write(at, (transaction) => transaction.recordRotation(aRotation(), LATER));
  const gone = { user_group_id: "gone" };
  await carryOut(at, anApplied({ change: anApply(gone) }));
  await begin(at, aDelete(gone));
  await write(at, (transaction) =>
    transaction.record([{ outcome: aDeleted({ change: aDelete(gone) }) }], NOW),
  );
  await begin(at, anApply({ user_group_id: "under way" }));
  await write(at, async (transaction) => {
    await transaction.bindService({ baseUrl: "https://it", teamId: 7, updates: null, isProbed: false });
    await transaction.recordReadHistory(aReadHistory());
    await transaction.recordRejections([aRejection()], [], NOW);
    await transaction.recordTokenDestinations(["the table tokens"]);
    await transaction.recordTokensVerified(NOW);
    await transaction.beginCanary({ user_group_id: "canary", baseUrl: "https://it" }, NOW);
  });
  await at.ledger.requestTenant("acme", "somebody", 60_000);
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
      expect(await at.ledger.scopes()).toEqual([]);
      await runAt(at, "sync", NOW);
      expect(await at.ledger.scopes()).toEqual(["default"]);
    });

    test("is forgotten as a whole, but for the run that forgets it", async () => {
      const at = await opened(makePlace);
      await fill(at);
      await forget(at);
      const { ledger } = at;
      expect(await ledger.scopes()).toEqual([]);
      expect(await collect(ledger.groups())).toEqual([]);
      expect(await ledger.service()).toMatchObject({ baseUrl: null, teamId: null, updates: null });
      expect(await ledger.readHistory()).toMatchObject(NO_READ_HISTORY);
      expect(await ledger.rejections()).toEqual([]);
      expect(await ledger.tokenDestinations()).toBeNull();
      expect(await ledger.tokensVerifiedAt()).toBeNull();
      expect(await ledger.removalsSince(new Date(0))).toBe(0);
      expect((await ledger.openRequests()).tenants).toEqual([]);
      expect(await ledger.canary()).toBeNull();
      expect(await at.database.formerTokens()).toEqual([]);
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

/** How a ledger in a database, with several scopes, forgets one of them. */
export function ledgerScopeTablesContract(name: string, makeDatabase: () => Promise<LedgerDatabase>): void {
  describe(`${name}: one of two scopes`, () => {
    test("is forgotten in every table, and not a row of the other one changes", async () => {
      const staging = await opened(makeDatabase, "staging");
      await fill(staging);
      const { database } = staging;
      const other = await prepared(database, "production");
      await fill({ database, ledger: other, lease: await leaseOf(other) });
      expect(await other.scopes()).toEqual(["production", "staging"]);
      const linesOf = async (scope: string) =>
        (await database.dump()).split("\n").filter((line) => line.includes(scope));
      const before = await linesOf("production");
      expect(before).toHaveLength((await linesOf("staging")).length);
      // Of the groups, and one or more of each of the ten other tables that have scopes.
      expect(before.length).toBeGreaterThan(11);

      await forget(staging);
      expect(await other.scopes()).toEqual(["production"]);
      expect(await linesOf("production")).toEqual(before);
      // The lease, and the run that has forgotten the scope.
      expect(await linesOf("staging")).toHaveLength(2);
      expect(await other.id()).not.toBeNull();
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
          transaction.bindService({ baseUrl, teamId, updates: null, isProbed: false }),
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
