import { describe, expect, test } from "vitest";
import { NO_READ_HISTORY } from "../../../src/core/plan/read-history.ts";
import { aDelete, aDeleted, anApplied, anApply, aReadHistory } from "../../builders/groups.ts";
import { begun, ended } from "../../builders/records.ts";
import { collect } from "../collect.ts";
import {
  carryOut,
  EXPIRED,
  groupsOf,
  type LedgerPlace,
  leaseOf,
  NOW,
  opened,
  prepared,
  TTL,
  write,
} from "./rig.ts";

/** Who may write, and that a write happens as a whole. */
export function ledgerLeaseContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: the lease`, () => {
    test("has one holder at a time, and names the holder", async () => {
      const { database, ledger, lease } = await opened(makePlace);
      const attempt = await database.ledger().acquireLease("another", TTL);
      expect(attempt).toEqual({
        kind: "held",
        by: expect.objectContaining({ epoch: lease.epoch, holder: "me" }),
      });
      const shown = (await ledger.scope()).lease;
      expect(shown).toMatchObject({ epoch: lease.epoch, holder: "me" });
      expect((shown?.expiresAt.getTime() ?? 0) - (shown?.acquiredAt.getTime() ?? 0)).toBe(TTL);
    });

    test("goes to one of many processes that ask at once", async () => {
      const database = await makePlace();
      const ledger = await prepared(database);
      const names = Array.from({ length: 8 }, (_, index) => `instance ${index}`);
      const attempts = await Promise.all(names.map((holder) => ledger.acquireLease(holder, TTL)));
      expect(attempts.filter((attempt) => attempt.kind === "acquired")).toHaveLength(1);
    });

    test("can be acquired after it has expired, each time with a higher epoch", async () => {
      const database = await makePlace();
      const ledger = await prepared(database);
      const epochs: bigint[] = [];
      for (const holder of ["a", "b", "c"])
        epochs.push(BigInt((await leaseOf(ledger, holder, EXPIRED)).epoch));
      const [first = 0n, second = 0n, third = 0n] = epochs;
      expect(first < second && second < third).toBe(true);
      expect((await ledger.scope()).lease).toBeNull();
    });

    test("can be acquired as soon as it is released", async () => {
      const { ledger, lease } = await opened(makePlace);
      await ledger.releaseLease(lease);
      expect((await ledger.scope()).lease).toBeNull();
      expect((await leaseOf(ledger, "another")).epoch).not.toBe(lease.epoch);
    });

    test("tells how long ago an abandoned lease expired", async () => {
      const ledger = await prepared(await makePlace());
      const taken = async (ttlMs = EXPIRED) => {
        const attempt = await ledger.acquireLease("me", ttlMs);
        if (attempt.kind !== "acquired") throw new Error("the lease should be free");
        return attempt;
      };
      expect(await taken()).toMatchObject({ abandonedMs: null });
      const { lease, abandonedMs } = await taken(TTL);
      expect(abandonedMs).toBeGreaterThanOrEqual(0);
      expect(abandonedMs).toBeLessThan(TTL);
      await ledger.releaseLease(lease);
      expect(await taken()).toMatchObject({ abandonedMs: null });
    });

    test("a release by a former holder changes nothing", async () => {
      const { ledger, lease } = await opened(makePlace);
      await ledger.releaseLease(lease);
      await leaseOf(ledger, "another");
      await ledger.releaseLease(lease);
      expect((await ledger.scope()).lease).toMatchObject({ holder: "another" });
    });

    test("can be renewed only by its holder", async () => {
      const database = await makePlace();
      const ledger = await prepared(database);
      const former = await leaseOf(ledger, "former", EXPIRED);
      expect(await ledger.renewLease(former, TTL)).toBeUndefined();
      expect((await ledger.scope()).lease).toMatchObject({ holder: "former" });
      await ledger.releaseLease(former);
      await leaseOf(ledger, "new", TTL);
      expect(await ledger.renewLease(former, 10 * TTL)).toMatchObject({ code: "LEASE_LOST" });
      const shown = (await ledger.scope()).lease;
      expect((shown?.expiresAt.getTime() ?? 0) - (shown?.acquiredAt.getTime() ?? 0)).toBe(TTL);
    });

    test("can be taken from a dead holder, but not from the next holder, and not once it was renewed", async () => {
      const { ledger, lease } = await opened(makePlace);
      const holder = async () => {
        const attempt = await ledger.acquireLease("another", TTL);
        if (attempt.kind !== "held") throw new Error("the lease should be held");
        return attempt.by;
      };
      const early = await holder();
      await ledger.renewLease(lease, 2 * TTL);
      expect(await ledger.acquireLease("another", TTL, { dead: early })).toMatchObject({ kind: "held" });
      const dead = await holder();
      const taken = await ledger.acquireLease("another", TTL, { dead });
      expect(taken).toMatchObject({ kind: "acquired", abandonedMs: 0 });
      expect(await ledger.acquireLease("a third", TTL, { dead })).toMatchObject({
        kind: "held",
        by: { holder: "another" },
      });
    });

    test("tells whether its holder hands it over", async () => {
      const ledger = await prepared(await makePlace());
      expect((await ledger.scope()).lease).toBeNull();
      await ledger.acquireLease("a daemon", EXPIRED, { handOverMs: 15_000 });
      await ledger.acquireLease("another daemon", TTL, { handOverMs: 30_000 });
      const holder = { holder: "another daemon", handOverMs: 30_000 };
      expect((await ledger.scope()).lease).toMatchObject(holder);
      const attempt = await ledger.acquireLease("a command", TTL);
      if (attempt.kind !== "held") throw new Error("the lease should be held");
      expect(attempt.by).toMatchObject(holder);
      await ledger.acquireLease("a command", TTL, { dead: attempt.by });
      expect((await ledger.scope()).lease).toMatchObject({ handOverMs: null });
    });

    test("a write without the lease changes nothing", async () => {
      const { ledger, lease } = await opened(makePlace);
      await ledger.releaseLease(lease);
      await leaseOf(ledger, "another");
      let ran = false;
      const writing = ledger.write(lease, async (transaction) => {
        ran = true;
        await transaction.change([begun(anApply())], NOW);
      });
      await expect(writing).rejects.toMatchObject({
        code: "LEASE_LOST",
        hint: expect.stringContaining("nothing more was changed"),
      });
      expect(ran).toBe(false);
      expect(await collect(ledger.groups())).toEqual([]);
    });

    test("allows writes after it has expired, until somebody else acquires it", async () => {
      const database = await makePlace();
      const ledger = await prepared(database);
      const lease = await leaseOf(ledger, "late", EXPIRED);
      await ledger.write(lease, (transaction) => transaction.change([begun(anApply())], NOW));
      await leaseOf(ledger, "another");
      const writing = ledger.write(lease, (transaction) =>
        transaction.change([{ kind: "returned", user_group_id: "acme" }], NOW),
      );
      await expect(writing).rejects.toMatchObject({ code: "LEASE_LOST" });
    });
  });

  describe(`${name}: a write`, () => {
    test("is all or nothing", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied());
      const before = await groupsOf(at);
      const writing = write(at, async (transaction) => {
        await transaction.change([begun(anApply({ user_group_id: "b" })), begun(aDelete())], NOW);
        await transaction.change([ended(aDeleted())], NOW);
        await transaction.recordScope({ history: aReadHistory() });
        throw new Error("half-way");
      });
      await expect(writing).rejects.toThrow("half-way");
      expect(await groupsOf(at)).toEqual(before);
      expect((await at.ledger.journalSum(["delete"], NOW)).count).toBe(0);
      expect((await at.ledger.scope()).history).toMatchObject(NO_READ_HISTORY);
    });

    test("that changes nothing is fine", async () => {
      const { ledger, lease } = await opened(makePlace);
      await ledger.write(lease, async (transaction) => {
        expect(await transaction.change([], NOW)).toEqual(new Map());
      });
      expect(await collect(ledger.groups())).toEqual([]);
    });
  });
}
