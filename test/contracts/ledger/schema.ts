import { describe, expect, test } from "vitest";
import { LATEST_VERSION } from "../../../src/adapters/sql/ledger/scope.ts";
import { NO_READ_HISTORY } from "../../../src/core/plan/read-history.ts";
import { collect } from "../collect.ts";
import { LATER, type LedgerDatabase, NOW, prepared } from "./rig.ts";

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

    test.each([
      ["a newer groupsync", LATEST_VERSION + 1, "LEDGER_TOO_NEW", /newer groupsync/],
      ["a build from before the first release", 14, "LEDGER_OUTDATED", /gone.*ledger\.table_prefix/],
    ])("of %s are refused, and left as they are", async (_, version, code, hint) => {
      const database = await makeDatabase();
      await prepared(database);
      await database.setVersion(version);
      const before = await database.dump();
      const refusal = { code, hint: expect.stringMatching(hint) };
      await expect(database.ledger().prepare()).rejects.toMatchObject(refusal);
      await expect(database.ledger().inspect()).rejects.toMatchObject(refusal);
      await expect(database.view().status()).rejects.toMatchObject(refusal);
      await expect(collect(database.view().groups())).rejects.toMatchObject(refusal);
      await expect(database.ledger().requestLease("somebody", 1_000)).rejects.toMatchObject(refusal);
      expect(await database.dump()).toEqual(before);
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
      expect(await view.tokensLiveSince(LATER)).toBe(0);
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
