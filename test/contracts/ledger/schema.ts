import { describe, expect, test } from "vitest";
import { LATEST_VERSION } from "../../../src/adapters/sql/ledger/scope.ts";
import { NO_READ_HISTORY } from "../../../src/core/plan/read-history.ts";
import { collect } from "../collect.ts";
import { LATER, type LedgerDatabase, leaseOf, NOW, opened, prepared, TTL } from "./rig.ts";

export function ledgerSchemaContract(name: string, makeDatabase: () => Promise<LedgerDatabase>): void {
  describe(`${name}: the ledger's tables`, () => {
    test("are created once; to prepare them again changes nothing", async () => {
      const database = await makeDatabase();
      await prepared(database);
      const tables = await database.tables();
      const before = await database.dump();
      await prepared(database);
      expect(await database.tables()).toEqual(tables);
      expect(await database.dump()).toEqual(before);
    });

    test("are created once if several processes start together", async () => {
      const database = await makeDatabase();
      await Promise.all(["a", "b", "c", "d"].map((scope) => prepared(database, scope)));
      expect(await collect(database.view().groups())).toEqual([]);
    });

    test("have an id that all scopes share, that stays, and that no other ledger has", async () => {
      const database = await makeDatabase();
      expect(await database.view().id()).toBeNull();
      const ledgers = await Promise.all(["a", "b", "c"].map((scope) => prepared(database, scope)));
      const ids = await Promise.all(ledgers.map((ledger) => ledger.id()));
      expect(new Set(ids).size).toBe(1);
      expect(ids[0]).toMatch(/^[\da-f-]{36}$/);
      expect(await (await prepared(await makeDatabase())).id()).not.toBe(ids[0]);
    });

    test("of an older version are migrated only by the holder of the lease", async () => {
      const database = await makeDatabase();
      const running = await leaseOf(await prepared(database), "an older program");
      await database.setVersion(1);
      const before = await database.dump();
      const ledger = await prepared(database);
      expect(await ledger.acquireLease("its successor", TTL)).toMatchObject({ kind: "held" });
      await expect(ledger.migrate({ epoch: `${running.epoch}0` })).rejects.toMatchObject({
        code: "LEASE_LOST",
      });
      expect(await database.dump()).toEqual(before);
    });

    test("of an older version are not migrated while another scope's lease is held", async () => {
      const database = await makeDatabase();
      const other = await prepared(database, "production");
      await leaseOf(other, "host-b pid 7");
      const ledger = await prepared(database, "staging");
      const lease = await leaseOf(ledger);
      await database.setVersion(LATEST_VERSION - 1);
      const before = await database.dump();
      await expect(ledger.migrate(lease)).rejects.toMatchObject({
        code: "LEASE_HELD",
        message: expect.stringMatching(/production.*host-b pid 7/),
        hint: expect.stringContaining("migrate"),
      });
      expect(await database.dump()).toEqual(before);
    });

    test("of this version can be used while another scope's lease is held", async () => {
      const database = await makeDatabase();
      await leaseOf(await prepared(database, "production"));
      const ledger = await prepared(database, "staging");
      await ledger.migrate(await leaseOf(ledger));
    });

    test("of this version need no migration", async () => {
      const at = await opened(makeDatabase);
      const before = await at.database.dump();
      await at.ledger.migrate(at.lease);
      expect(await at.database.dump()).toEqual(before);
    });

    test("of a newer version are refused", async () => {
      const database = await makeDatabase();
      await prepared(database);
      await database.setVersion(99);
      const refusal = { code: "LEDGER_TOO_NEW", hint: expect.stringContaining("newer groupsync") };
      await expect(database.ledger().prepare()).rejects.toMatchObject(refusal);
      await expect(database.view().status()).rejects.toMatchObject(refusal);
      await expect(collect(database.view().groups())).rejects.toMatchObject(refusal);
    });

    test("of an older version are refused by a view, which changes nothing", async () => {
      const database = await makeDatabase();
      await prepared(database);
      await database.setVersion(1);
      const refusal = {
        code: "LEDGER_OUTDATED",
        message: expect.stringContaining(
          `version 1, and this groupsync works with version ${LATEST_VERSION}`,
        ),
        hint: expect.stringMatching(/`groupsync sync`.* migrates it first; nothing in it is lost/),
      };
      const view = database.view();
      await expect(view.status()).rejects.toMatchObject(refusal);
      await expect(view.readHistory()).rejects.toMatchObject(refusal);
      await expect(view.removalsSince(NOW)).rejects.toMatchObject(refusal);
      await expect(view.missing()).rejects.toMatchObject(refusal);
      await expect(collect(view.groups())).rejects.toMatchObject(refusal);
      await expect(view.confirmed(["acme"])).rejects.toMatchObject(refusal);
      await expect(view.existing({ limit: 1 })).rejects.toMatchObject(refusal);
      await expect(view.existingCount({})).rejects.toMatchObject(refusal);
      await expect(view.rotatable({ until: NOW, limit: 1 })).rejects.toMatchObject(refusal);
      await expect(view.rotatableCount(NOW)).rejects.toMatchObject(refusal);
      await expect(view.history(NOW, 1)).rejects.toMatchObject(refusal);
      await expect(view.tokensLiveSince([NOW])).rejects.toMatchObject(refusal);
      await expect(view.id()).rejects.toMatchObject(refusal);
      await expect(view.tokenDestinations()).rejects.toMatchObject(refusal);
      await expect(view.tokenTables()).rejects.toMatchObject(refusal);
    });

    test("of an older version keep no requests", async () => {
      const database = await makeDatabase();
      const lease = await leaseOf(await prepared(database));
      await database.setVersion(1);
      const ledger = database.ledger();
      const refusal = { code: "LEDGER_OUTDATED" };
      await expect(ledger.handOver()).rejects.toMatchObject(refusal);
      await expect(ledger.offerHandOver(lease, 1)).rejects.toMatchObject(refusal);
      await expect(ledger.requestLease("somebody", TTL)).rejects.toMatchObject(refusal);
      await expect(ledger.openRequests()).rejects.toMatchObject(refusal);
    });

    test("read as empty if they are missing, and reading does not create them", async () => {
      const database = await makeDatabase();
      const view = database.view();
      expect(await view.service()).toMatchObject({ baseUrl: null, teamId: null, updates: null });
      expect(await view.readHistory()).toMatchObject(NO_READ_HISTORY);
      expect(await view.removalsSince(new Date(0))).toBe(0);
      expect(await view.missing()).toEqual([]);
      expect(await collect(view.groups())).toEqual([]);
      expect(await view.confirmed(["acme"])).toEqual(new Map());
      expect(await view.existing({ limit: 1 })).toEqual([]);
      expect(await view.existingCount({})).toBe(0);
      expect(await view.rotatable({ until: NOW, limit: 1 })).toEqual([]);
      expect(await view.rotatableCount(NOW)).toBe(0);
      expect(await view.history(new Date(0), 1)).toEqual([]);
      expect(await view.tokensLiveSince([NOW, LATER])).toEqual([0, 0]);
      expect(await view.tokenDestinations()).toBeNull();
      expect(await view.tokenTables()).toEqual([]);
      // Where they would be made.
      expect(await view.ownTables()).toMatch(/^\w+\.\w+\*$/);
      expect(await view.status()).toMatchObject({
        groups: { total: 0 },
        oldestToken: null,
        oldestUnsynced: null,
        held: null,
        runs: [],
        lease: null,
        failing: [],
      });
      expect(await database.tables()).toEqual([]);
    });
  });
}
