import { describe, expect, test } from "vitest";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { aFailed, aGroup, aNotUpdated, anApplied, anApply } from "../../builders/groups.ts";
import { begun, ended } from "../../builders/records.ts";
import { collect, rejection } from "../collect.ts";
import {
  begin,
  carryOut,
  groupOf,
  LATER,
  type LedgerDatabase,
  NOW,
  opened,
  TTL,
  take,
  write,
} from "./rig.ts";

/** What takes a database: how it holds what it is given, and what becomes of it when things break. */
export function ledgerStorageContract(name: string, makeDatabase: () => Promise<LedgerDatabase>): void {
  describe(`${name}: the ledger's database`, () => {
    test("gives back every group that was confirmed, to the character", async () => {
      const at = await opened(makeDatabase);
      const group = aGroup({
        name: "NUL \0, half a pair \ud800, 😀",
        mapping: { "40": "\\u0000" },
        properties: JSON.parse('{"__proto__": ["\\u0000", 1e-7, "9007199254740993"], "": null}'),
      });
      const odd = anApply({ group, dataSourceId: "NUL \0, half \ud800" });
      const ordinary = anApply({ user_group_id: "b" });
      await begin(at, odd, ordinary);
      const failure = { code: "REFUSED", message: "NUL \0, half \ud800" };
      await take(at, [
        ended(anApplied({ change: odd, serviceName: "half \udfff and NUL \0" })),
        ended(aFailed({ change: ordinary, failure }), { retryAt: LATER }),
      ]);
      expect((await at.ledger.records(["acme"])).get("acme")?.confirmed).toEqual(group);
      expect((await begin(at, odd)).get("acme")).toMatchObject({
        serviceName: "half \udfff and NUL \0",
        dataSourceId: "NUL \0, half \ud800",
      });
      expect(await groupOf(at, "b")).toMatchObject({ failures: { change: { message: failure.message } } });
    });

    test("holds why a run failed, whatever the words", async () => {
      const at = await opened(makeDatabase);
      const error = { code: "SOURCE_UNAVAILABLE", message: "NUL \0 and half \ud800" };
      await write(at, async (transaction) => {
        const run = await transaction.startRun("sync", NOW);
        await transaction.finishRun(
          run,
          { outcome: "failed", counts: noCounts(), requests: 0, error },
          LATER,
        );
      });
      const [run] = await at.ledger.history(new Date(0), 1);
      expect(run?.result?.error).toEqual({ code: error.code, message: "NUL \ufffd and half \ufffd" });
    });

    test("never holds a token, but its fingerprint", async () => {
      const at = await opened(makeDatabase);
      const token = new Secret("ugt_never-to-be-seen");
      await carryOut(at, anApplied({ token }));
      await carryOut(at, aNotUpdated({ change: anApply({ user_group_id: "b" }), token }), LATER);
      const text = await at.database.dump();
      expect(text).toContain(tokenFingerprint(token));
      expect(text).not.toContain(token.reveal());
    });

    test("the lease changes hands only when an open write is done; a heartbeat doesn't wait", async () => {
      const { database, ledger, lease } = await opened(makeDatabase);
      const other = database.ledger();
      const events: string[] = [];
      let seizing: Promise<unknown> | undefined;
      await ledger.write(lease, async (transaction) => {
        await transaction.change([begun(anApply())], NOW);
        expect(await ledger.renewLease(lease, TTL)).toBeUndefined();
        const attempt = await other.acquireLease("another", TTL);
        if (attempt.kind !== "held") throw new Error("the lease should be held");
        seizing = other.acquireLease("another", TTL, { dead: attempt.by }).then(async () => {
          events.push(`seized, ${(await collect(other.groups())).length} group`);
        });
        await database.untilBlocked();
        events.push("written");
      });
      await seizing;
      expect(events).toEqual(["written", "seized, 1 group"]);
    });

    test.each(["before its last statement", "before its commit"])(
      "a write leaves nothing behind when the database goes away %s",
      async (when) => {
        const at = await opened(makeDatabase);
        const writing = at.ledger.write(at.lease, async (transaction) => {
          await transaction.change([begun(anApply())], NOW);
          await at.database.cut();
          if (when === "before its last statement")
            await transaction.change([{ kind: "returned", user_group_id: "acme" }], NOW);
        });
        expect(await rejection(writing)).toMatchObject({
          code: "LEDGER_UNAVAILABLE",
          message: expect.stringContaining("cannot write the ledger"),
        });
        expect(await collect(at.ledger.groups())).toEqual([]);
        await at.ledger.write(at.lease, (transaction) => transaction.change([begun(anApply())], NOW));
        expect(await collect(at.ledger.groups())).toHaveLength(1);
      },
    );
  });
}
