import { describe, expect, test } from "vitest";
import { NO_EVIDENCE } from "../../../src/core/evidence.ts";
import { collect } from "../collect.ts";
import { LATER, type LedgerDatabase, NOW, prepared } from "./rig.ts";

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
      const refusal = { code: "LEDGER_OUTDATED", hint: expect.stringContaining("groupsync sync") };
      const view = database.view();
      await expect(view.status()).rejects.toMatchObject(refusal);
      await expect(view.evidence()).rejects.toMatchObject(refusal);
      await expect(view.removalsSince(NOW)).rejects.toMatchObject(refusal);
      await expect(collect(view.groups())).rejects.toMatchObject(refusal);
      await expect(view.confirmed(["acme"])).rejects.toMatchObject(refusal);
      await expect(view.rotatable({ until: NOW, limit: 1 })).rejects.toMatchObject(refusal);
      await expect(view.rotatableCount(NOW)).rejects.toMatchObject(refusal);
      await expect(view.history(NOW, 1)).rejects.toMatchObject(refusal);
      await expect(view.tokensLiveSince([NOW])).rejects.toMatchObject(refusal);
      await expect(view.tokenPlaces()).rejects.toMatchObject(refusal);
    });

    test("read as empty where there are none, and reading makes none", async () => {
      const database = await makeDatabase();
      const view = database.view();
      expect(await view.service()).toEqual({ baseUrl: null, teamId: null, updates: null });
      expect(await view.evidence()).toEqual(NO_EVIDENCE);
      expect(await view.removalsSince(new Date(0))).toBe(0);
      expect(await collect(view.groups())).toEqual([]);
      expect(await view.confirmed(["acme"])).toEqual(new Map());
      expect(await view.rotatable({ until: NOW, limit: 1 })).toEqual([]);
      expect(await view.rotatableCount(NOW)).toBe(0);
      expect(await view.history(new Date(0), 1)).toEqual([]);
      expect(await view.tokensLiveSince([NOW, LATER])).toEqual([0, 0]);
      expect(await view.tokenPlaces()).toBeNull();
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
