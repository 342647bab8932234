import { describe, expect, test } from "vitest";
import { NO_EVIDENCE } from "../../../src/core/apply/update-evidence.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { RunResult } from "../../../src/ports/ledger/scope.ts";
import { anApplied, anApply } from "../../builders/groups.ts";
import { carryOut, inDays, LATER, type LedgerPlace, NOW, opened, prepared, runAt, write } from "./rig.ts";

/** What the ledger tells of its runs, its groups and its service. */
export function ledgerStatusContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: the ledger's runs and status`, () => {
    const result: RunResult = {
      outcome: "partial",
      counts: { ...noCounts(), created: 2, failed: 1 },
      requests: 3,
      error: null,
    };

    test("a run is open until it is finished; the status shows the newest ten", async () => {
      const { ledger, lease } = await opened(makePlace);
      const ids: string[] = [];
      for (let index = 0; index < 11; index++) {
        ids.push(await ledger.write(lease, (transaction) => transaction.startRun(`sync ${index}`, NOW)));
      }
      const [last, beforeLast] = ids.toReversed() as [string, string];
      const error = { code: "SOURCE_UNAVAILABLE", message: "cannot read it" };
      await ledger.write(lease, async (transaction) => {
        await transaction.finishRun(last, result, LATER);
        await transaction.finishRun(beforeLast, { ...result, outcome: "failed", error }, LATER);
      });
      const { runs } = await ledger.status();
      expect(runs.map((run) => run.id)).toEqual(ids.toReversed().slice(0, 10));
      expect(runs[0]).toEqual({ id: last, command: "sync 10", startedAt: NOW, finishedAt: LATER, result });
      expect(runs[1]?.result).toMatchObject({ outcome: "failed", error });
      expect(runs[2]).toEqual({
        id: ids[8],
        command: "sync 8",
        startedAt: NOW,
        finishedAt: null,
        result: null,
      });
    });

    test("the status shows the last run that the service made fail, until an answer after it", async () => {
      const at = await opened(makePlace);
      const failAt = (code: string, day: number): Promise<void> =>
        write(at, async (transaction) => {
          const run = await transaction.startRun(`sync ${day}`, inDays(day));
          const error = { code, message: "no" };
          const result = { outcome: "failed" as const, counts: noCounts(), requests: 1, error };
          await transaction.finishRun(run, result, inDays(day));
        });
      const unanswered = async () => (await at.ledger.status()).unanswered?.command;
      await failAt("KEY_REFUSED", 1);
      expect(await unanswered()).toBe("sync 1");
      await failAt("SERVICE_UNAVAILABLE", 2);
      await failAt("SOURCE_UNAVAILABLE", 3);
      for (let day = 4; day < 16; day++) await runAt(at, "sync", inDays(day));
      const service = { baseUrl: "https://service.test", teamId: 7, evidence: NO_EVIDENCE };
      await write(at, async (transaction) => {
        await transaction.recordScope({ service });
        await transaction.recordScope({ answeredAt: inDays(2) });
      });
      expect(await unanswered()).toBe("sync 2");
      await write(at, (transaction) => transaction.recordScope({ answeredAt: inDays(2, 1) }));
      expect(await unanswered()).toBeUndefined();
    });

    test("a group is unverified unless the service is known to update", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied({ kind: "adopted", change: anApply(), unverified: true }));
      const unverifiedIf = async (updates: boolean | null) => {
        const evidence = { ...NO_EVIDENCE, probe: updates };
        const service = { baseUrl: "https://service.test", teamId: 7, evidence };
        await at.ledger.write(at.lease, (transaction) => transaction.recordScope({ service }));
        const { groups } = await at.ledger.status();
        return [groups.unverified, (await at.ledger.record("acme")).group?.unverified];
      };
      expect(await unverifiedIf(null)).toEqual([1, "adopted"]);
      expect(await unverifiedIf(true)).toEqual([0, null]);
      expect(await unverifiedIf(false)).toEqual([1, "adopted"]);
    });

    test("remembers the service, with a team id of any size", async () => {
      const { ledger, lease, database } = await opened(makePlace);
      for (const service of [
        { baseUrl: "https://service.test", teamId: null, evidence: NO_EVIDENCE },
        {
          baseUrl: "https://service.test",
          teamId: Number.MAX_SAFE_INTEGER,
          evidence: { probe: null, took: ["a"], kept: ["ü", "🙂"] },
        },
        { baseUrl: "https://service.test", teamId: -1, evidence: { ...NO_EVIDENCE, probe: true } },
      ]) {
        await ledger.write(lease, (transaction) => transaction.recordScope({ service }));
        expect((await ledger.scope()).service).toMatchObject(service);
        expect((await database.view().status()).service).toMatchObject(service);
      }
    });

    test("remembers when the service of its scope last answered, whatever else is learned of it", async () => {
      const at = await opened(makePlace);
      const service = { baseUrl: "https://service.test", teamId: 7, evidence: NO_EVIDENCE };
      const shown = { ...service, evidence: { ...NO_EVIDENCE, took: ["acme"] } };
      await write(at, (transaction) => transaction.recordScope({ answeredAt: NOW }));
      expect((await at.ledger.scope()).service.answeredAt).toBeNull();
      await write(at, async (transaction) => {
        await transaction.recordScope({ service });
        await transaction.recordScope({ answeredAt: NOW });
      });
      await write(at, (transaction) => transaction.recordScope({ service: shown }));
      const known = { ...shown, answeredAt: NOW };
      expect((await at.ledger.scope()).service).toEqual(known);
      expect((await at.database.view().status()).service).toEqual(known);
      const other = await prepared(at.database, "other");
      expect((await other.scope()).service.answeredAt).toBeNull();
    });

    test("remembers the canary of its scope until it is forgotten", async () => {
      const at = await opened(makePlace);
      const canary = { user_group_id: "groupsync-canary-0", baseUrl: "https://service.test/a" };
      expect((await at.ledger.scope()).canary).toBeNull();
      await write(at, (transaction) => transaction.recordScope({ canary }));
      expect((await at.ledger.scope()).canary).toEqual(canary);
      expect((await at.database.view().scope()).canary).toEqual(canary);
      expect(await at.ledger.status()).toMatchObject({ groups: { total: 0 }, service: { baseUrl: null } });

      await write(at, (transaction) => transaction.recordScope({ canary: null }));
      expect((await at.ledger.scope()).canary).toBeNull();
      await write(at, (transaction) =>
        transaction.recordScope({ canary: { ...canary, user_group_id: "another" } }),
      );
      expect((await at.ledger.scope()).canary).toMatchObject({ user_group_id: "another" });
    });
  });
}
