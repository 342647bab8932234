import { describe, expect, test } from "vitest";
import { LATEST_VERSION } from "../../../src/adapters/sql/ledger-schema.ts";
import { NO_EVIDENCE } from "../../../src/core/evidence.ts";
import { collect } from "../collect.ts";
import { LATER, type LedgerDatabase, leaseOf, NOW, opened, prepared, TTL } from "./rig.ts";

export function ledgerTablesContract(name: string, makeDatabase: () => Promise<LedgerDatabase>): void {
  describe(`${name}: the ledger's tables`, () => {
    test("are made once, and can be prepared again", async () => {
      const database = await makeDatabase();
      await prepared(database);
      const tables = await database.tables();
      const before = await database.dump();
      await prepared(database);
      expect(await database.tables()).toEqual(tables);
      expect(await database.dump()).toEqual(before);
    });

    test("are made by one of several that start together", async () => {
      const database = await makeDatabase();
      await Promise.all(["a", "b", "c", "d"].map((scope) => prepared(database, scope)));
      expect(await collect(database.view().groups())).toEqual([]);
    });

    test("have one id for all scopes, which stays, and which no other ledger has", async () => {
      const database = await makeDatabase();
      expect(await database.view().id()).toBeNull();
      const ledgers = await Promise.all(["a", "b", "c"].map((scope) => prepared(database, scope)));
      const ids = await Promise.all(ledgers.map((ledger) => ledger.id()));
      expect(new Set(ids).size).toBe(1);
      expect(ids[0]).toMatch(/^[\da-f-]{36}$/);
      expect(await (await prepared(await makeDatabase())).id()).not.toBe(ids[0]);
    });

    test("of an older program stay as they are until its successor holds the lease", async () => {
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

    test("of an older program stay as they are while another name's lease in them is held", async () => {
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

    test("of this version are worked on whoever else holds a lease in them", async () => {
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

    test("are refused where a newer program made them", async () => {
      const database = await makeDatabase();
      await prepared(database);
      await database.setVersion(99);
      const refusal = { code: "LEDGER_TOO_NEW", hint: expect.stringContaining("newer groupsync") };
      await expect(database.ledger().prepare()).rejects.toMatchObject(refusal);
      await expect(database.view().status()).rejects.toMatchObject(refusal);
      await expect(collect(database.view().groups())).rejects.toMatchObject(refusal);
    });

    test("are left alone by a view that needs newer ones", async () => {
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
      await expect(view.evidence()).rejects.toMatchObject(refusal);
      await expect(view.removalsSince(NOW)).rejects.toMatchObject(refusal);
      await expect(view.missingSince(NOW)).rejects.toMatchObject(refusal);
      await expect(collect(view.groups())).rejects.toMatchObject(refusal);
      await expect(view.confirmed(["acme"])).rejects.toMatchObject(refusal);
      await expect(view.existing({ limit: 1 })).rejects.toMatchObject(refusal);
      await expect(view.existingCount({})).rejects.toMatchObject(refusal);
      await expect(view.rotatable({ until: NOW, limit: 1 })).rejects.toMatchObject(refusal);
      await expect(view.rotatableCount(NOW)).rejects.toMatchObject(refusal);
      await expect(view.history(NOW, 1)).rejects.toMatchObject(refusal);
      await expect(view.tokensLiveSince([NOW])).rejects.toMatchObject(refusal);
      await expect(view.id()).rejects.toMatchObject(refusal);
      await expect(view.tokenPlaces()).rejects.toMatchObject(refusal);
      await expect(view.tokenTables()).rejects.toMatchObject(refusal);
    });

    test("read as empty where there are none, and reading makes none", async () => {
      const database = await makeDatabase();
      const view = database.view();
      expect(await view.service()).toEqual({ baseUrl: null, teamId: null, updates: null });
      expect(await view.evidence()).toEqual(NO_EVIDENCE);
      expect(await view.removalsSince(new Date(0))).toBe(0);
      expect(await view.missingSince(new Date(0))).toBe(0);
      expect(await collect(view.groups())).toEqual([]);
      expect(await view.confirmed(["acme"])).toEqual(new Map());
      expect(await view.existing({ limit: 1 })).toEqual([]);
      expect(await view.existingCount({})).toBe(0);
      expect(await view.rotatable({ until: NOW, limit: 1 })).toEqual([]);
      expect(await view.rotatableCount(NOW)).toBe(0);
      expect(await view.history(new Date(0), 1)).toEqual([]);
      expect(await view.tokensLiveSince([NOW, LATER])).toEqual([0, 0]);
      expect(await view.tokenPlaces()).toBeNull();
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
