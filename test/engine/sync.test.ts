import { describe, expect, it } from "vitest";
import { NO_EVIDENCE } from "../../src/core/apply/update-evidence.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/failure/service-failure.ts";
import { noCounts } from "../../src/core/report/counts.ts";
import { aGroup } from "../builders/groups.ts";
import { failing, type Point } from "../fakes/instance.ts";
import { aSyncedWorld, BASE_URL, tenants, World } from "../fakes/world.ts";

const counts = (some: object) => ({ ...noCounts(), ...some });

const asked = (world: World): string[] => world.service.requests.map(({ id }) => id);

/** Fails every GET for these groups, like a service that can't handle something about them. */
const refusing = (code: ServiceFailureCode, ...ids: string[]) =>
  failing("before", "getOrCreate", () => new ServiceFailure(code, code), { ids });

describe("a first sync", () => {
  it("makes each group with one request, and stores the token that the service has", async () => {
    const world = new World(tenants("a", "b", "c", "é", "\uffff", "\u{1f600}"));
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "ok", counts: counts({ created: 6 }), requests: 6, errors: [] });
    expect(world.service.requests).toHaveLength(6);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.ledger.service).toMatchObject({ baseUrl: BASE_URL, teamId: 7, evidence: NO_EVIDENCE });
  });

  it("is in the ledger's history", async () => {
    const world = await aSyncedWorld(["a"]);
    expect(world.ledger.runs).toMatchObject([
      { command: "sync", finishedAt: expect.any(Date), result: { outcome: "ok", requests: 1, error: null } },
    ]);
  });

  it("stores the token of a group that keeps another name, and counts it as failed", async () => {
    const world = new World(tenants("a"));
    world.service.put(aGroup({ user_group_id: "a", name: "Another" }));
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "partial", counts: counts({ failed: 1 }) });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "NOT_UPDATED" }]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

describe("a further sync", () => {
  it("takes a tenant that isn't ready for present, and makes no group of one that never was", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    const [a] = world.tenants.splice(0, 1);
    const deletion = { when: "absent", gracePeriodMs: 1_000, limit: { count: 9, percent: 100 } } as const;
    expect((await world.sync({ settings: { deletion } })).counts).toEqual(
      counts({ missing: 1, unchanged: 1 }),
    );
    world.tenants.push({ ...a, ready: false }, { id: "c", ready: false }, { id: null, ready: false });
    expect((await world.sync()).counts).toEqual(counts({ not_ready: 3, unchanged: 1 }));
    expect(world.ledger.rows.get("a")?.absence).toBeNull();
    expect([...world.ledger.rows.keys()]).toEqual(["a", "b"]);
    const only = await world.sync({ only: new Set(["a", "c"]) });
    expect(only).toMatchObject({ outcome: "ok", counts: counts({ not_ready: 2 }), requests: 0 });
    expect(only.errors.map(({ user_group_id, code }) => [user_group_id, code])).toEqual([
      ["a", "NOT_READY"],
      ["c", "NOT_READY"],
    ]);
    world.tenants.splice(0, 3, ...tenants("a", "b", "c"));
    expect((await world.sync()).counts).toEqual(counts({ created: 1, unchanged: 2, not_ready: 1 }));
  });
});

describe("--only", () => {
  it("with an unknown id leaves no run in the history", async () => {
    const world = await aSyncedWorld(["a"]);
    const before = [...world.ledger.runs];
    await world.sync({ only: new Set(["A"]) });
    await world.startRotation({ kind: "only", ids: new Set(["A"]) }).report;
    expect(world.ledger.runs).toEqual(before);
  });

  const GONE = "TENANT_GONE";

  it("reports a tenant that is gone and has no group", async () => {
    const world = new World([...tenants("a"), { id: "flagged", name: "F", removed: true }]);
    await world.sync();
    const message = "its tenant is gone, and there is no group of it";
    const flagged = await world.sync({ only: new Set(["a", "flagged"]) });
    expect(flagged).toMatchObject({ outcome: "ok", requests: 0, counts: { unchanged: 1 } });
    expect(flagged.errors).toEqual([{ user_group_id: "flagged", code: GONE, message }]);

    const refuse = refusing("REFUSED", "b");
    world.tenants = tenants("a", "b");
    await world.sync({ at: refuse });
    world.tenants = tenants("a");
    const neverMade = await world.sync({ only: new Set(["b"]) });
    expect(neverMade.errors).toEqual([{ user_group_id: "b", code: GONE, message }]);
    expect(neverMade.outcome).toBe("ok");
  });
});

describe("the order of effects", () => {
  const EFFECTS = ["before begun", "after commit", "after getOrCreate", "after writeTokens", "before ended"];

  it("is intent, call, token, ledger", async () => {
    const world = new World(tenants("a"));
    const { instance, report } = world.start();
    await report;
    const history = instance.history(...EFFECTS);
    // The first and the last commit are the run's own record, the others where the tokens go and what the read is worth.
    expect(history).toEqual([
      "after commit",
      "after commit",
      "after commit",
      "before begun a",
      "after commit",
      "after getOrCreate a",
      "after writeTokens a",
      "before ended a",
      "after commit",
      "after commit",
    ]);
  });

  it.each([true, false])(
    "never lets the ledger vouch for a token that isn't stored (one database: %s)",
    async (shared) => {
      const world = new World(tenants("a", "b", "c", "d", "e"));
      world.store.sharesLedger = shared;
      const vouchedInVain = (): string[] =>
        [...world.ledger.rows].flatMap(([id, row]) =>
          row.tokenFingerprint !== null && !world.store.tokens.has(id) ? [id] : [],
        );
      const seen: string[] = [];
      await world.sync({ at: () => void seen.push(...vouchedInVain()) });
      expect(seen).toEqual([]);
    },
  );
});

describe("a run that has to end early", () => {
  it("stops between two calls when it is told to, and the next run continues from there", async () => {
    const world = new World(tenants("a", "b", "c", "d", "e", "f"));
    const stopping = new AbortController();
    const stop = ({ when, call, id }: Point): void => {
      if (when === "after" && call === "getOrCreate" && id === "b") stopping.abort();
    };
    const report = await world.sync({ at: stop, signal: stopping.signal, settings: { concurrency: 1 } });
    const hint = "the answers so far are recorded; the next sync goes on from there";
    expect(report).toMatchObject({ outcome: "failed", error: { code: "INTERRUPTED", hint } });
    expect(asked(world)).toEqual(["a", "b"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect((await world.sync()).counts).toEqual(counts({ created: 4, unchanged: 2 }));
  });
});
