import { describe, expect, test } from "vitest";
import { LEDGER_VERSION } from "../../../src/adapters/sql/dialect/ledger-tables.ts";
import { collect } from "../collect.ts";
import { type LedgerDatabase, prepared } from "./rig.ts";
import { expectEmpty } from "./scopes.ts";

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
      expect((await database.view().scope()).ledgerId).toBeNull();
      const ledgers = await Promise.all(["a", "b", "c"].map((scope) => prepared(database, scope)));
      const ids = await Promise.all(ledgers.map(async (ledger) => (await ledger.scope()).ledgerId));
      expect(new Set(ids).size).toBe(1);
      expect(ids[0]).toMatch(/^[\da-f-]{36}$/);
      const another = await prepared(await makeDatabase());
      expect((await another.scope()).ledgerId).not.toBe(ids[0]);
    });

    test.each([
      ["a newer groupsync", LEDGER_VERSION + 1, "LEDGER_TOO_NEW", /newer groupsync/],
      ["a build from before the first release", 14, "LEDGER_OUTDATED", /gone.*ledger\.table_prefix/],
    ])("of %s are refused, and left as they are", async (_, version, code, hint) => {
      const database = await makeDatabase();
      await prepared(database);
      await database.setVersion(version);
      const before = await database.dump();
      const refusal = { code, hint: expect.stringMatching(hint) };
      await expect(database.ledger().prepare()).rejects.toMatchObject(refusal);
      await expect(database.ledger().inspect()).rejects.toMatchObject(refusal);
      await expect(database.view().sums()).rejects.toMatchObject(refusal);
      await expect(collect(database.view().groups())).rejects.toMatchObject(refusal);
      await expect(database.ledger().putRequest(null, "somebody", 1_000)).rejects.toMatchObject(refusal);
      expect(await database.dump()).toEqual(before);
    });

    test("read as empty if they are missing, and reading does not create them", async () => {
      const database = await makeDatabase();
      const view = database.view();
      await expectEmpty(view);
      // Where they would be made.
      expect((await view.tables()).place).toMatch(/^\w+\.\w+\*$/);
      expect(await database.tables()).toEqual([]);
    });
  });
}
