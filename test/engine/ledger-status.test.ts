import { expect, test } from "vitest";
import { NO_EVIDENCE } from "../../src/core/apply/update-evidence.ts";
import { STALE_CODE } from "../../src/core/plan/read-history.ts";
import { noCounts } from "../../src/core/report/counts.ts";
import { heldGroups, ledgerStatus } from "../../src/engine/ledger-status.ts";
import type { ScopeChanges } from "../../src/ports/ledger/scope.ts";
import { anApplied, anApply, aReadHistory } from "../builders/groups.ts";
import { carryOut, inDays, type Opened, opened, runAt, take, write } from "../contracts/ledger/rig.ts";
import { inMemoryPlace } from "../fakes/ledger/ledger.ts";

const aLedger = (): Promise<Opened> => opened(inMemoryPlace);

const SERVICE = { baseUrl: "https://service.test", teamId: 7, evidence: NO_EVIDENCE };
const DELETION = { when: "absent", gracePeriodMs: 0, limit: { count: 3, percent: 10 } } as const;
const statusOf = (at: Opened) => ledgerStatus(at.ledger, { name: "test", deletion: DELETION }, inDays(0));
const record = (at: Opened, changes: ScopeChanges) => write(at, (to) => to.recordScope(changes));
const recordCode = (at: Opened, heldCode: string) => record(at, { history: aReadHistory({ heldCode }) });

test("held groups are told, a hundred at most, with the code that approves all", async () => {
  const at = await aLedger();
  const all = Array.from({ length: 101 }, (_, n) => ({
    ...({ kind: "delete", user_group_id: `id ${String(n).padStart(3, "0")}` } as const),
  }));
  for (const { user_group_id } of all) await carryOut(at, anApplied({ change: anApply({ user_group_id }) }));
  await take(
    at,
    all.map(({ user_group_id }) => ({ kind: "held", user_group_id, removal: "delete" })),
  );
  expect(await heldGroups(at.ledger)).toBeNull();
  await recordCode(at, "c0de");
  const held = { count: 101, code: "c0de", groups: all.slice(0, 100) };
  expect(await heldGroups(at.ledger)).toEqual(held);
  await recordCode(at, STALE_CODE);
  expect(await heldGroups(at.ledger)).toEqual({ ...held, code: null });
});

test("a code that a run has changed meanwhile is not told", async () => {
  const at = await aLedger();
  await carryOut(at, anApplied());
  await take(at, [{ kind: "held", user_group_id: "acme", removal: "delete" }]);
  await recordCode(at, "before");
  const sums: typeof at.ledger.sums = async (list) => {
    await recordCode(at, "after");
    return at.ledger.sums(list);
  };
  expect(await heldGroups({ ...at.ledger, sums })).toMatchObject({ code: null });
  expect(await heldGroups(at.ledger)).toMatchObject({ code: "after" });
});

test("the last run that the service made fail is told until an answer after it", async () => {
  const at = await aLedger();
  const failAt = (code: string, day: number): Promise<void> =>
    write(at, async (transaction) => {
      const run = await transaction.startRun(`sync ${day}`, inDays(day));
      const error = { code, message: "no" };
      const result = { outcome: "failed" as const, counts: noCounts(), requests: 1, error };
      await transaction.finishRun(run, result, inDays(day));
    });
  const unanswered = async () => (await statusOf(at)).unanswered?.command;
  await failAt("KEY_REFUSED", 1);
  expect(await unanswered()).toBe("sync 1");
  await failAt("SERVICE_UNAVAILABLE", 2);
  await failAt("SOURCE_UNAVAILABLE", 3);
  for (let day = 4; day < 16; day++) await runAt(at, "sync", inDays(day));
  expect((await statusOf(at)).runs).toHaveLength(10);
  await record(at, { service: SERVICE, answeredAt: inDays(2) });
  expect(await unanswered()).toBe("sync 2");
  await record(at, { answeredAt: inDays(2, 1) });
  expect(await unanswered()).toBeUndefined();
});

test("a group is unverified unless the service is known to update", async () => {
  const at = await aLedger();
  await carryOut(at, anApplied({ kind: "adopted", change: anApply(), unverified: true }));
  const unverifiedIf = async (probe: boolean | null) => {
    await record(at, { service: { ...SERVICE, evidence: { ...NO_EVIDENCE, probe } } });
    return (await statusOf(at)).groups.unverified;
  };
  expect([await unverifiedIf(null), await unverifiedIf(true), await unverifiedIf(false)]).toEqual([1, 0, 1]);
});
