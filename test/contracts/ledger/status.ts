import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import { NO_EVIDENCE } from "../../../src/core/apply/update-evidence.ts";
import { NO_FAILURES } from "../../../src/core/failure/group-failures.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { RunResult } from "../../../src/ports/ledger/scope.ts";
import { someGroups } from "../../builders/daemon-state.ts";
import { aFailed, anApplied, anApply } from "../../builders/groups.ts";
import { begun, ended } from "../../builders/records.ts";
import {
  begin,
  carryOut,
  hold,
  inDays,
  LATER,
  type LedgerPlace,
  leave,
  NOW,
  opened,
  prepared,
  returned,
  runAt,
  take,
  write,
} from "./rig.ts";

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

    test("failing groups are told in the order in which they began to fail", async () => {
      const at = await opened(makePlace);
      for (const [id, day] of [
        ["often", 2],
        ["often", 3],
        ["long", 1],
        ["too", 2],
      ] as const) {
        const refused = aFailed({ change: anApply({ user_group_id: id }) });
        await take(at, [begun(refused.change), ended(refused, { retryAt: LATER })], inDays(day));
      }
      const { failing } = await at.ledger.status();
      expect(failing.map(({ user_group_id }) => user_group_id)).toEqual(["long", "often", "too"]);
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

    test("tenants are missing since a time until they are back or held", async () => {
      const at = await opened(makePlace);
      for (const id of ["back", "flagged", "held", "long", "short", "there"])
        await carryOut(at, anApplied({ change: anApply({ user_group_id: id }) }));
      const leaveAt = (now: Date, absence: "absent" | "flagged", ...ids: string[]): Promise<unknown> =>
        leave(at, absence, { ms: 0, reads: 1 }, ids, now);
      expect(await at.ledger.missing()).toEqual([]);
      await leaveAt(LATER, "absent", "back", "held", "short");
      await leaveAt(LATER, "flagged", "flagged");
      await leaveAt(NOW, "absent", "long");
      expect(await at.ledger.missing()).toEqual([
        { kind: "absent", since: NOW, groups: 1 },
        { kind: "absent", since: LATER, groups: 3 },
        { kind: "flagged", since: LATER, groups: 1 },
      ]);
      await take(at, [returned("back"), returned("flagged")]);
      await hold(at, [{ kind: "delete", user_group_id: "held" }]);
      expect(await at.ledger.missing()).toEqual([
        { kind: "absent", since: NOW, groups: 1 },
        { kind: "absent", since: LATER, groups: 1 },
      ]);
    });

    test("the record of a group has its times, its confirmed state, its failures and its past", async () => {
      const at = await opened(makePlace);
      const nothing = { group: null, removals: [], formerTokens: [] };
      const change = anApply({ user_group_id: "acme" });
      expect(await at.ledger.record("acme")).toEqual(nothing);

      await begin(at, change);
      const begun = { createdAt: NOW, changedAt: NOW, intentAt: NOW, confirmed: null, serviceName: null };
      const untold = { tokenFingerprint: null, tokenSince: null, verifiedAt: null, unverified: null };
      expect(await at.ledger.record("acme")).toMatchObject({
        ...nothing,
        group: { ...begun, ...untold, failures: NO_FAILURES },
      });

      const recordAt = (now: Date, outcome: Outcome, retryAt?: Date): Promise<unknown> =>
        take(at, [ended(outcome, retryAt && { retryAt })], now);
      const [first, second] = [new Secret("first"), new Secret("second")];
      await recordAt(NOW, anApplied({ change, token: first }));
      const replaced = { ...change, kind: "replace" } as const;
      await begin(at, replaced);
      await recordAt(LATER, anApplied({ change: replaced, token: second, kind: "replaced" }));
      await begin(at, change);
      await recordAt(inDays(5), aFailed({ change }), inDays(6));
      const { failure } = aFailed({ change });
      expect(await at.ledger.record("acme")).toMatchObject({
        group: {
          createdAt: NOW,
          changedAt: inDays(5),
          intentAt: null,
          confirmed: change.group,
          serviceName: "Acme",
          tokenFingerprint: tokenFingerprint(second),
          tokenSince: LATER,
          verifiedAt: LATER,
          unverified: null,
          failures: {
            ...NO_FAILURES,
            change: { ...failure, count: 1, since: inDays(5), retryAt: inDays(6) },
          },
        },
        removals: [{ kind: "replace", at: LATER }],
        formerTokens: [{ fingerprint: tokenFingerprint(first), since: NOW, until: LATER }],
      });
      expect(await at.ledger.record("ACME")).toEqual(nothing);
      expect(await at.ledger.record("acme\0")).toEqual(nothing);
    });

    test("the status counts the groups by state, and lists the failing groups", async () => {
      const at = await opened(makePlace);
      const of = (id: string) => anApply({ user_group_id: id, fingerprint: `f-${id}` });
      for (const id of ["ok", "missing"]) await carryOut(at, anApplied({ change: of(id) }));
      await carryOut(at, anApplied({ change: of("unverified"), unverified: true }));
      await begin(at, of("under-way"));
      await leave(at, "absent", { ms: 0, reads: 1 }, ["missing"]);
      for (const id of ["fails", "fails-more", "fails-more"]) {
        await carryOut(at, aFailed({ change: of(id) }), LATER);
      }
      await carryOut(at, aFailed({ change: of("maybe"), mayHaveHappened: true }), LATER);

      const { groups, failing } = await at.ledger.status();
      expect(groups).toEqual(
        someGroups({ total: 7, in_sync: 2, under_way: 2, failing: 3, missing: 1, unverified: 1 }),
      );
      expect(failing.map(({ user_group_id, count }) => [user_group_id, count])).toEqual([
        ["fails", 1],
        ["fails-more", 2],
        ["maybe", 1],
      ]);
      expect(failing[1]).toMatchObject({
        code: "REFUSED",
        message: "GET was answered HTTP 422",
        retryAt: LATER,
      });
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
