import { describe, expect, it } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { RotationPolicy } from "../../../src/core/rotation/rotation-policy.ts";
import { type DueRotations, dueRotations } from "../../../src/engine/check/due-rotations.ts";
import { predictedFailures, type SyncConditions } from "../../../src/engine/check/sync-conditions.ts";
import { forecastSync } from "../../../src/engine/check/sync-forecast.ts";
import { aScopeState } from "../../builders/groups.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, BASE_URL, syncSettings, type World } from "../../fakes/world.ts";

const failing = (code: string, message: string) => async (): Promise<never> => {
  throw new SyncError(code, message);
};

interface Faults {
  readonly ledger?: () => Promise<void>;
  readonly tokens?: () => Promise<void>;
  readonly knownBaseUrl?: string;
}

function inputs({ ledger, tokens, knownBaseUrl }: Faults): SyncConditions {
  return {
    ledger: {
      inspect: ledger ?? (async () => {}),
      scope: async () => aScopeState(),
    },
    tokens: { inspect: tokens ?? (async () => {}), destinations: [] },
    service: { ...aScopeState().service, baseUrl: knownBaseUrl ?? null },
    name: "default",
    baseUrl: BASE_URL,
  };
}

const codesOf = async (faults: Faults): Promise<string[]> =>
  (await predictedFailures(inputs(faults))).map(({ code }) => code);

describe("the failures that a sync would meet", () => {
  it("are none if every check passes", async () => {
    expect(await codesOf({})).toEqual([]);
  });

  it("are all reported, in the order of a sync", async () => {
    const faults = {
      ledger: failing("LEDGER_TOO_NEW", "a newer groupsync made the ledger"),
      tokens: failing("TOKEN_STORE_UNAVAILABLE", "no such directory"),
      knownBaseUrl: "https://elsewhere.example.com",
    };
    expect(await codesOf(faults)).toEqual(["LEDGER_TOO_NEW", "SERVICE_CHANGED", "TOKEN_STORE_UNAVAILABLE"]);
  });

  it("have each message once", async () => {
    const missing = failing("LEDGER_UNAVAILABLE", "no such schema");
    expect(await codesOf({ ledger: missing, tokens: missing })).toEqual(["LEDGER_UNAVAILABLE"]);
  });

  it("don't hide a mistake in this program", async () => {
    const mistake = async (): Promise<never> => {
      throw new TypeError("undefined");
    };
    await expect(predictedFailures(inputs({ tokens: mistake }))).rejects.toThrow(TypeError);
  });
});

const DAY = 86_400_000;
/** The fakes' time begins at midnight. */
const NIGHT = { from: 0, to: 300, timeZone: "UTC" };
const DAYTIME = { from: 300, to: 0, timeZone: "UTC" };

const policy = (overrides: Partial<RotationPolicy> = {}): RotationPolicy => ({
  maxAgeMs: 90 * DAY,
  window: null,
  maxPerRun: null,
  concurrency: 1,
  ...overrides,
});

/** Groups whose tokens are 90 days old. */
async function aWorldOfOldTokens(...ids: string[]): Promise<World> {
  const world = await aSyncedWorld(ids);
  await world.time.sleep(90 * DAY - world.time.elapsed);
  return world;
}

async function removalsDue(world: World, rotation: RotationPolicy, only?: ReadonlySet<string>) {
  const { ledger } = world.ports(new Instance(), new VirtualClock(world.time));
  const due: DueRotations = await dueRotations(ledger, rotation, world.time.now(), only);
  const ids = (groups: readonly { user_group_id: string }[]) => groups.map((group) => group.user_group_id);
  return { ...due, next: ids(due.next), waiting: ids(due.waiting) };
}

it.each<[string, Partial<RotationPolicy>, object]>([
  ["all old tokens", {}, { total: 3, count: 3, next: ["a", "b", "c"] }],
  ["nothing without max_age", { maxAgeMs: null }, { total: 0, count: 0, next: [] }],
  ["nothing younger than max_age", { maxAgeMs: 91 * DAY }, { total: 0, count: 0, next: [] }],
  ["all in the window", { window: NIGHT }, { total: 3, count: 3 }],
  ["nothing outside of the window", { window: DAYTIME }, { total: 3, count: 0, next: [] }],
  ["at most max_per_run tokens", { maxPerRun: 2 }, { total: 3, count: 2, next: ["a", "b"] }],
])("a sync would rotate %s", async (_, overrides, due) => {
  expect(await removalsDue(await aWorldOfOldTokens("a", "b", "c"), policy(overrides))).toMatchObject(due);
});

it("a failed rotation waits for its next try, and the sync rotates another token instead", async () => {
  const world = await aWorldOfOldTokens("a", "b", "c");
  const rotation = policy({ maxPerRun: 1 });
  const refuse = ({ call, when }: { call: string; when: string }): void => {
    if (call === "rotate" && when === "before") throw new ServiceFailure("REFUSED", "success is 0");
  };
  for (let times = 0; times < 3; times++) await world.sync({ settings: { rotation }, at: refuse });
  const due = await removalsDue(world, rotation);
  expect(due).toMatchObject({ total: 3, count: 1, waiting: ["a"], next: ["b"] });
  world.service.requests.length = 0;
  await world.sync({ settings: { rotation } });
  expect(world.service.requests.map(({ id }) => id)).toEqual(due.next);
});

it("a rotation whose next try is later than any wait is due: a clock ran ahead when it failed", async () => {
  const world = await aWorldOfOldTokens("a");
  const record = world.ledger.rows.get("a");
  const rotation = { code: "REFUSED", message: "no", count: 9, since: new Date(0), retryAt: new Date(8e15) };
  if (record) world.ledger.rows.set("a", { ...record, failures: { ...record.failures, rotation } });
  expect(await removalsDue(world, policy())).toMatchObject({ next: ["a"], waiting: [] });
  expect((await world.sync({ settings: { rotation: policy() } })).counts).toMatchObject({ rotated: 1 });
});

it("a sync of some tenants would rotate their tokens only if they are wanted", async () => {
  const world = await aWorldOfOldTokens("a", "b", "c");
  const want = (id: string, intent: "delete" | null): void => {
    const record = world.ledger.rows.get(id);
    if (record) world.ledger.rows.set(id, { ...record, intent, wantedSince: world.time.now() });
  };
  want("a", null);
  want("c", "delete");
  const refused = { code: "REFUSED", message: "no", count: 9, since: new Date(0), retryAt: new Date(8e15) };
  const failing = world.ledger.rows.get("a");
  if (failing)
    world.ledger.rows.set("a", { ...failing, failures: { ...failing.failures, rotation: refused } });
  const due = (...ids: string[]) => removalsDue(world, policy(), new Set(ids));
  expect(await due("a", "b")).toMatchObject({ total: 1, count: 1, next: ["a"] });
  expect(await due("c")).toMatchObject({ total: 1, count: 0, next: [] });
});

it("a sync of some tenants would ask for no more groups in doubt than these", async () => {
  const world = await aSyncedWorld(["a", "b", "c"]);
  for (const [id, record] of world.ledger.rows) world.ledger.rows.set(id, { ...record, doubt: "rewind" });
  const ports = world.ports(new Instance(), new VirtualClock(world.time));
  const setup = { ports, ...ports, ...syncSettings(), settings: syncSettings() };
  const due = async (only?: ReadonlySet<string>): Promise<number | undefined> => {
    const { plan, refresh } = await forecastSync(setup, only, new AbortController().signal);
    plan.entries.close();
    return refresh?.due;
  };
  expect([await due(), await due(new Set(["a"]))]).toEqual([3, 1]);
});

it("counts all due rotations, and lists the first thousand", async () => {
  const ids = Array.from({ length: 1_203 }, (_, index) => `t-${String(index).padStart(4, "0")}`);
  const due = await removalsDue(await aWorldOfOldTokens(...ids), policy());
  expect(due).toMatchObject({ total: 1_203, count: 1_203 });
  expect(due.next).toEqual(ids.slice(0, 1_000));
});
