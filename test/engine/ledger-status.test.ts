import { expect, test } from "vitest";
import { NO_EVIDENCE } from "../../src/core/apply/update-evidence.ts";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import type { Failure } from "../../src/core/failure/sync-error.ts";
import { noCounts } from "../../src/core/report/counts.ts";
import { incidentsOf } from "../../src/core/report/incidents.ts";
import { unansweredRun } from "../../src/core/report/scope-facts.ts";
import { ledgerStatus } from "../../src/engine/ledger-status.ts";
import { heldGroups } from "../../src/engine/plan/held-groups.ts";
import type { RecordedRun, ScopeChanges } from "../../src/ports/ledger/scope.ts";
import { aRecordedRun } from "../builders/daemon-state.ts";
import { anApplied, anApply, aReadHistory } from "../builders/groups.ts";
import { carryOut, inDays, type Opened, opened, runAt, take, write } from "../contracts/ledger/rig.ts";
import { failing, Instance } from "../fakes/instance.ts";
import { inMemoryPlace } from "../fakes/ledger/ledger.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { aSyncedWorld, tenants, type World } from "../fakes/world.ts";

const aLedger = (): Promise<Opened> => opened(inMemoryPlace);

const SERVICE = { baseUrl: "https://service.test", teamId: 7, evidence: NO_EVIDENCE };
const DELETION = { when: "absent", gracePeriodMs: 0, limit: { count: 3, percent: 10 } } as const;
const SETTINGS = { name: "test", deletion: DELETION, rotation: { maxAgeMs: null } };
const statusOf = (at: Pick<Opened, "ledger">, now = inDays(0)) => ledgerStatus(at.ledger, SETTINGS, now);
const record = (at: Opened, changes: ScopeChanges) => write(at, (to) => to.recordScope(changes));
const recordCode = (at: Opened, code: string | null, count: number) =>
  record(at, { history: aReadHistory({ held: { code, count } }) });

test("held groups are told, a hundred at most, with the code that approves all", async () => {
  const at = await aLedger();
  const all = Array.from({ length: 101 }, (_, n) => ({
    ...({ kind: "replace", user_group_id: `id ${String(n).padStart(3, "0")}` } as const),
  }));
  for (const { user_group_id } of all) await carryOut(at, anApplied({ change: anApply({ user_group_id }) }));
  await take(
    at,
    all.map(({ user_group_id }) => ({ kind: "held", user_group_id, removal: "replace" })),
  );
  await recordCode(at, "c0de", 101);
  const held = { count: 101, code: "c0de", groups: all.slice(0, 100) };
  expect(await heldGroups(at.ledger)).toEqual(held);
  await recordCode(at, null, 101);
  expect(await heldGroups(at.ledger)).toEqual({ ...held, code: null });
});

test("a code that a run has changed meanwhile is not told", async () => {
  const at = await aLedger();
  await carryOut(at, anApplied());
  await take(at, [{ kind: "held", user_group_id: "acme", removal: "replace" }]);
  await recordCode(at, "before", 1);
  const sums: typeof at.ledger.sums = async (list) => {
    await recordCode(at, "after", 1);
    return at.ledger.sums(list);
  };
  expect(await heldGroups({ ...at.ledger, sums })).toMatchObject({ code: null });
  expect(await heldGroups(at.ledger)).toMatchObject({ code: "after" });
});

test.each<[string, (world: World) => void]>([
  ["comes back", (world) => world.tenants.push(...tenants("a"))],
  ["is not ready", (world) => world.tenants.push({ id: "a", name: "A", ready: false })],
])("of three held deletions, two are told without a code once one tenant %s", async (_, change) => {
  const world = await aSyncedWorld(["a", "b", "c", "here"]);
  world.tenants = tenants("here");
  const settings = { deletion: { ...DELETION, limit: { count: 1, percent: 0 } } };
  expect(await world.sync({ settings })).toMatchObject({ outcome: "held", counts: { held: 3 } });
  const told = async () => {
    const ledger = await worldsStatus(world, null);
    const held = incidentsOf({ ledger, daemon: null }, world.time.now()).find(({ kind }) => kind === "held");
    return { sentence: held?.sentence, commands: held?.help.map(({ command }) => command) };
  };
  const [approve = ""] = (await told()).commands ?? [];
  expect(await told()).toEqual({
    sentence: expect.stringContaining("3 deletions are held: deletion.limit lets 1 of 4 groups go"),
    commands: [expect.stringContaining("--approve-deletions")],
  });
  change(world);
  await world.sync({ settings, only: new Set(["a"]) });
  expect(await told()).toEqual({
    sentence: "Needs attention: 2 removals held.",
    commands: ["groupsync plan"],
  });
  // The code that is not told any more would be refused.
  const approval = approve.split(" ").at(-1);
  expect(await world.sync({ settings, approval })).toMatchObject({
    outcome: "held",
    counts: { held: 2 },
    errors: expect.arrayContaining([expect.objectContaining({ code: "APPROVAL_MISMATCH" })]),
  });
  world.tenants.push(...tenants("b", "c"));
  await world.sync({ settings, only: new Set(["b", "c"]) });
  expect(await told()).toEqual({ sentence: undefined, commands: undefined });
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
  const unanswered = async (now = inDays(5)) =>
    unansweredRun({ ledger: await statusOf(at, now), daemon: null })?.command;
  await failAt("KEY_REFUSED", 1);
  expect(await unanswered()).toBe("sync 1");
  // The clock was set back. No answer would be later.
  expect(await unanswered(inDays(0))).toBeUndefined();
  await failAt("SERVICE_UNAVAILABLE", 2);
  await failAt("SOURCE_UNAVAILABLE", 3);
  await runAt(at, "sync", inDays(4));
  await record(at, { service: SERVICE, answeredAt: inDays(2) });
  expect(await unanswered()).toBe("sync 2");
  await record(at, { answeredAt: inDays(2, 1) });
  expect(await unanswered()).toBeUndefined();
});

test("runs are read for a day, and further back only to tell since when the last error lasts", async () => {
  const minutes = 60_000;
  const run = (error: Failure | null, ago: number): RecordedRun => {
    const startedAt = inDays(0, -ago * minutes);
    const result = { outcome: error ? "failed" : "ok", counts: noCounts(), requests: 0, error } as const;
    return aRecordedRun({ id: String(-ago), startedAt, finishedAt: startedAt, result });
  };
  const error = { code: "SOURCE_UNAVAILABLE", message: "" };
  const readOf = async (everyMinutes: number, failing: number): Promise<number> => {
    const { ledger } = await aLedger();
    const all = Array.from({ length: 1_000 }, (_, n) => run(n < failing ? error : null, n * everyMinutes));
    const history: typeof ledger.history = async (_, limit) => all.slice(0, limit);
    return (await statusOf({ ledger: { ...ledger, history } })).runs.length;
  };
  expect(await readOf(5, 0)).toBe(300);
  expect(await readOf(5, 299)).toBe(300);
  expect(await readOf(5, 300)).toBe(1_000);
  expect(await readOf(4, 0)).toBe(1_000);
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

const DAY = 86_400_000;

const worldsStatus = (world: World, maxAgeMs: number | null, now = world.time.now()) => {
  const { ledger } = world.ports(new Instance(), new VirtualClock(world.time));
  return ledgerStatus(ledger, { ...SETTINGS, rotation: { maxAgeMs } }, now);
};

test("tokens beyond rotation.max_age are counted", async () => {
  const world = await aSyncedWorld(["a", "b"]);
  await world.time.sleep(DAY / 2);
  world.tenants = tenants("a", "b", "c");
  await world.sync();
  const now = new Date(world.time.now().getTime() + 364.75 * DAY);
  expect((await worldsStatus(world, 9 * DAY, now)).tooOld).toEqual({ maxAgeMs: 9 * DAY, tokens: 3 });
  expect((await worldsStatus(world, 365 * DAY, now)).tooOld).toMatchObject({ tokens: 2 });
  expect((await worldsStatus(world, null)).tooOld).toBeNull();
});

test("groups that fail and groups of rejected rows have names, as far as the service told them", async () => {
  const world = await aSyncedWorld(["failing", "fine", "rejected"]);
  world.tenants = [
    { id: "failing", name: "Renamed", plan: "gold" },
    ...tenants("fine"),
    { id: "rejected", name: null, plan: "gold" },
    { id: "new", name: null, plan: "gold" },
  ];
  await world.sync({
    at: failing("before", "getOrCreate", () => new ServiceFailure("REFUSED", "HTTP 422")),
  });
  expect([...(await worldsStatus(world, null)).names]).toEqual([
    ["failing", "Name of failing"],
    ["rejected", "Name of rejected"],
  ]);
});
