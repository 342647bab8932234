import { describe, expect, it } from "vitest";
import { noCounts } from "../../src/core/report/counts.ts";
import type { RunReport } from "../../src/engine/report/run-report.ts";
import { sync } from "../../src/engine/sync.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { syncSettings, tenants, World } from "../fakes/world.ts";

const portsOf = (world: World, observe: (event: RunEvent) => void) => ({
  ...world.ports(new Instance(), new VirtualClock(world.time)),
  observe,
});
const never = new AbortController().signal;

describe("an observer that throws", () => {
  const failing = (seen: string[]) => (event: RunEvent) => {
    seen.push(event.kind);
    throw new Error("the terminal is gone");
  };

  it("ends no sync, and still gets every event", async () => {
    const world = new World(tenants("a", "b"));
    const seen: string[] = [];
    const report = await sync(portsOf(world, failing(seen)), syncSettings(), {}, never);
    expect(report).toMatchObject({ outcome: "ok", counts: { ...noCounts(), created: 2 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect([seen[0], seen.at(-1)]).toEqual(["started", "finished"]);
  });
});

it("a run has the duration that it took, whatever becomes of the clock meanwhile", async () => {
  const world = new World(tenants("a"));
  const started = world.start({
    at: async ({ when, call }) => {
      if (when !== "before" || call !== "getOrCreate") return;
      await world.time.sleep(2_000);
      started.clock.jump(-3_600_000);
    },
  });
  const { outcome, durationMs } = (await started.report) as RunReport;
  expect({ outcome, durationMs }).toEqual({ outcome: "ok", durationMs: 2_000 });
});

it.each([false, true])(
  "a run reports the duration that its record has (it is stopped: %s)",
  async (isStopped) => {
    const world = new World(tenants("a"));
    const stop = new AbortController();
    const { report } = world.start({
      signal: stop.signal,
      at: async ({ call }) => {
        await world.time.sleep(1_000);
        if (isStopped && call === "getOrCreate") stop.abort();
      },
    });
    const { outcome, durationMs } = (await report) as RunReport;
    expect(outcome).toBe(isStopped ? "failed" : "ok");
    const [run] = world.ledger.runs;
    expect(durationMs).toBe((run?.finishedAt?.getTime() ?? 0) - (run?.startedAt.getTime() ?? 0));
  },
);

describe("a run whose lease somebody asks for", () => {
  const handsOver = { lease: { ...syncSettings().lease, handsOver: true }, concurrency: 1 };
  /** A sync of three tenants, of which the second is under way when somebody asks for the lease. */
  const aRun = ({ isStopped }: { readonly isStopped: boolean }) => {
    const world = new World(tenants("a", "b", "c"));
    const stopping = new AbortController();
    const started = world.start({
      settings: handsOver,
      signal: stopping.signal,
      at: async ({ when, call, id }) => {
        if (when !== "after" || call !== "getOrCreate" || id !== "b") return;
        const request = {
          kind: "lease",
          user_group_id: null,
          requester: "host-a pid 7",
          answer: null,
        } as const;
        world.ledger.requests.set("1", {
          ...request,
          expiresAt: new Date(world.time.now().getTime() + 5_000),
        });
        await world.time.sleep(3_000);
        if (isStopped) stopping.abort();
      },
    });
    return { world, ...started };
  };

  it("records the calls under way, starts no other, and says why it ended", async () => {
    const { world, events, report } = aRun({ isStopped: false });
    expect(await report).toMatchObject({
      outcome: "failed",
      counts: { created: 2, failed: 0 },
      error: { code: "LEASE_HANDED_OVER", message: expect.stringContaining("host-a pid 7") },
    });
    expect(world.service.requests.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect([...world.ledger.rows.keys()]).toEqual(["a", "b"]);
    expect(world.ledger.lease?.holder).toBe("");
    expect(world.ledger.runs[0]).toMatchObject({ result: { error: { code: "LEASE_HANDED_OVER" } } });
    expect(events.at(-1)).toMatchObject({ kind: "finished", error: { code: "LEASE_HANDED_OVER" } });
  });

  it("was told to stop if it was that too", async () => {
    const { report } = aRun({ isStopped: true });
    expect(await report).toMatchObject({ error: { code: "INTERRUPTED" } });
  });
});
