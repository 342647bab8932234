import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { Keys } from "../../../src/engine/lease/keys.ts";
import { readLongPause } from "../../../src/engine/plan/make-plan.ts";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import { type SyncSettings, sync } from "../../../src/engine/sync.ts";
import type { RecordedRun } from "../../../src/ports/ledger/scope.ts";
import { anyId, anyName, anyObject } from "../../builders/arbitraries.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { type StartOptions, syncSettings, tenants, World } from "../../fakes/world.ts";
import { AT_ONCE, aPlan, changes, confirmed, inShort, OWNED } from "./a-plan.ts";

const anyRecords = fc.uniqueArray(fc.record({ id: anyId(), name: anyName(), properties: anyObject() }), {
  selector: ({ id }) => id,
  maxLength: 10,
});

const anyBatch = fc.integer({ min: 1, max: 5 });

describe("a plan", () => {
  it("is empty if the ledger has exactly these tenants", async () => {
    await fc.assert(
      fc.asyncProperty(anyRecords, fc.tuple(anyBatch, anyBatch), async (records, batches) => {
        const ledger = records.map((record) => [record.id, confirmed(record)] as const);
        const planned = await aPlan(records, ledger, { batches });
        expect(inShort(planned)).toEqual([]);
        expect(planned.unchanged).toBe(records.length);
      }),
    );
  });

  it("creates groups for new tenants, and records which tenants left", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyRecords,
        fc.func(fc.constantFrom("both", "source", "ledger")),
        async (records, where) => {
          const at = (place: string) => records.filter(({ id }) => where(id) === place);
          const [both, source, ledger] = [at("both"), at("source"), at("ledger")];
          const rows = [...both, ...ledger].map((record) => [record.id, confirmed(record)] as const);
          const planned = await aPlan([...both, ...source], rows);
          expect(inShort(planned).sort()).toEqual(
            [
              ...source.map(({ id }) => `create ${id}`),
              ...ledger.flatMap(({ id }) => [`missing ${id}`, `left ${id}`]),
            ].sort(),
          );
          expect(planned).toMatchObject({
            unchanged: both.length,
            conclusive: both.length + source.length > 0,
            counts: { create: source.length, missing: ledger.length },
          });
        },
      ),
    );
  });
});

describe("a plan for some ids alone", () => {
  const records = tenants("a", "b", "c");

  it("leaves out all other tenants, and rows without an id", async () => {
    const planned = await aPlan([...records, { id: null }], [["gone", OWNED]], { only: ["b"] });
    expect(inShort(planned)).toEqual(["create b"]);
    expect(planned.conclusive).toBe(true);
  });

  it("looks these ids up, in the source and in the ledger, and reads nothing else", async () => {
    const { calls } = await aPlan(records, [["gone", OWNED]], { only: ["b", "gone"] });
    expect(calls.filter((call) => ["rowsOf", "groupRecords"].includes(call))).toHaveLength(2);
    for (const call of ["openSource", "rows", "sourceBuckets", "ledgerBuckets", "groups", "sums"])
      expect(calls).not.toContain(call);
  });

  it("rejects a row that is there twice", async () => {
    const planned = await aPlan([...records, ...tenants("b")], [["b", OWNED]], { only: ["b"] });
    expect(inShort(planned)).toEqual(["rejected b"]);
  });

  it("holds replacements beyond the limit, which is that of the whole ledger", async () => {
    const outdated = records.map((record): [string, GroupRecord] => [
      record.id as string,
      confirmed(record, { fingerprint: "of an older row" }),
    ]);
    const others = Array.from({ length: 27 }, (_, n): [string, GroupRecord] => [`other ${n}`, OWNED]);
    const replacements = async (ledger: Iterable<[string, GroupRecord]>): Promise<string[]> => {
      const limit = { count: 1, percent: 10 };
      const options = { only: ["a", "b", "c"], update: "replace", deletion: { ...AT_ONCE, limit } } as const;
      return changes(await aPlan(records, ledger, options));
    };
    expect(await replacements(outdated)).toEqual([]);
    expect(await replacements([...outdated, ...others])).toEqual(["replace a", "replace b", "replace c"]);
    const begun: [string, GroupRecord] = ["begun", { ...OWNED, intent: "delete" }];
    expect(await replacements([...outdated, ...others, begun])).toEqual([]);
  });

  it("is refused with the name of every unknown id", async () => {
    await expect(aPlan(records, [], { only: ["a", "A", " a"] })).rejects.toMatchObject({
      code: "UNKNOWN_ID",
      message: 'neither the source nor the ledger has "A", " a"',
    });
  });
});

const MINUTE = 60_000;

const HOUR = 60 * MINUTE;

const DAY = 24 * HOUR;

const settings: Partial<SyncSettings> = {
  deletion: { when: "absent", gracePeriodMs: DAY, limit: { count: 3, percent: 0 } },
};

/** Syncs, one each hour. */
async function syncs(world: World, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await world.sync({ settings });
    await world.time.sleep(HOUR);
  }
}

test("a pause of two hours each week is no long one, with syncs each five minutes", async () => {
  const now = Date.parse("2026-03-29T04:00:00Z");
  const runs: RecordedRun[] = [];
  // Two hours before `now`, and two hours before each full week before it, nothing runs.
  for (let time = now - 2 * HOUR; time > now - 28 * DAY; time -= 5 * MINUTE) {
    if ((now - time) % (7 * DAY) < 2 * HOUR) continue;
    const startedAt = new Date(time);
    const result = { outcome: "ok", counts: noCounts(), requests: 0, error: null } as const;
    runs.push({ id: String(time), command: "sync", startedAt, finishedAt: new Date(time + 1000), result });
  }
  const history = async (since: Date, limit: number) =>
    runs.filter(({ startedAt }) => startedAt >= since).slice(0, limit);
  expect(await readLongPause({ history }, { healthyAt: null }, new Date(now))).toBeNull();
});

test("syncs that a refused key ends have read the source: they are no pause", async () => {
  const world = new World(tenants("a", "here"));
  await syncs(world, 12);
  world.tenants = tenants("here", "new");
  world.network = async () => {
    throw new ServiceFailure("KEY_REFUSED", "expired");
  };
  const codes: string[] = [];
  for (let n = 0; n < 12; n++) {
    const { events, report } = world.start({ settings });
    expect(await report).toMatchObject({ error: { code: "KEY_REFUSED" } });
    codes.push(...events.flatMap((event) => (event.kind === "warning" ? [event.code] : [])));
    await world.time.sleep(HOUR);
  }
  expect(codes).toEqual([]);
});

test("a look at a missing tenant meanwhile doesn't let its old absence go on", async () => {
  const world = new World(tenants("a", "here"));
  await syncs(world, 12);
  world.tenants = tenants("here");
  await syncs(world, 2);
  await world.time.sleep(12 * HOUR);
  let keys: Keys | undefined;
  const instance = new Instance({
    at: async ({ call }) => {
      // The look finds what the plan finds: the tenant is gone.
      if (call === "sourceBuckets") keys?.looksUp(["a"]);
    },
  });
  const clock = new VirtualClock(world.time);
  const beside = async (run: { readonly keys: Keys }) => {
    keys = run.keys;
    return async () => {};
  };
  const ports = { ...world.ports(instance, clock), observe: () => {} };
  await sync(ports, syncSettings(settings), {}, new AbortController().signal, beside);
  await world.time.sleep(HOUR);
  await syncs(world, 14);
  expect([...world.service.groups.keys()]).toEqual(["a", "here"]);
});

/** A sync on a host whose clock is so far ahead of the ledger's. */
async function syncAhead(world: World, ms: number, options: StartOptions = {}): Promise<RunReport> {
  const { clock, report } = world.start({ settings, ...options });
  clock.jump(ms);
  const ended = await report;
  if (ended === "died") throw new Error("it died");
  return ended;
}

/** Two tenants are gone, and one sync has seen it. */
async function twoGone(): Promise<World> {
  const world = new World(tenants("a", "b", "here"));
  await world.sync({ settings });
  world.tenants = tenants("here");
  await world.sync({ settings });
  return world;
}

const groupsOf = (world: World): string[] => [...world.service.groups.keys()].sort();

const THREE = ["a", "b", "here"];

const DIFFERS = expect.objectContaining({ code: "CLOCK_DIFFERS", user_group_id: null });

test.each([26 * HOUR, -26 * HOUR, 6 * MINUTE])(
  "a clock that is set by %i ms ends no grace period, neither then nor once it is right again",
  async (ms) => {
    const world = await twoGone();
    await world.time.sleep(15_000);
    const report = await syncAhead(world, ms);
    expect(report).toMatchObject({ outcome: "partial", hold: undefined, error: undefined });
    expect(report.errors).toEqual([DIFFERS]);
    expect(report.counts).toMatchObject({ missing: 2, deleted: 0, held: 0 });
    await syncAhead(world, ms);
    await world.time.sleep(15_000);
    for (let n = 0; n < 3; n++) expect(await world.sync({ settings })).toMatchObject({ outcome: "ok" });
    expect(groupsOf(world)).toEqual(THREE);
    await world.time.sleep(DAY);
    await world.sync({ settings });
    expect(groupsOf(world)).toEqual(["here"]);
  },
);

test("all else goes on, and a tenant that comes back starts anew", async () => {
  const world = await twoGone();
  await world.time.sleep(23 * HOUR);
  world.tenants = tenants("a", "here", "new");
  expect(await syncAhead(world, DAY)).toMatchObject({ outcome: "partial", counts: { created: 1 } });
  expect(groupsOf(world)).toEqual([...THREE, "new"]);
  world.tenants = tenants("here", "new");
  await world.sync({ settings });
  await world.time.sleep(2 * HOUR);
  await world.sync({ settings });
  expect(groupsOf(world)).toContain("a");
});

test("a run with another clock is no good sync: after it a pause may be long", async () => {
  const world = await twoGone();
  for (let n = 0; n < 12; n++) {
    await world.time.sleep(HOUR / 4);
    await world.sync({ settings });
  }
  await world.time.sleep(3 * DAY);
  await syncAhead(world, -2 * DAY);
  const { events, report } = world.start({ settings });
  await report;
  expect(events).toContainEqual(expect.objectContaining({ code: "GRACE_PERIOD_RESTARTED" }));
  expect(groupsOf(world)).toEqual(THREE);
});
