import { describe, expect, it, onTestFinished } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { work } from "../../../src/engine/apply/apply-changes.ts";
import type { Point } from "../../fakes/instance.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { tenants, World } from "../../fakes/world.ts";

const IDS = Array.from({ length: 30 }, (_, n) => `t${String(n).padStart(2, "0")}`);

const settings = { concurrency: 3 };

/** Rejects with `error()` from the nth time this point is reached, at most `times` times. */
function failing(when: Point["when"], call: string, error: () => Error, { from = 1, times = Infinity } = {}) {
  let reached = 0;
  return (point: Point): void => {
    if (point.when !== when || point.call !== call) return;
    reached++;
    if (reached >= from && reached < from + times) throw error();
  };
}

const service = (code: ServiceFailureCode) => () => new ServiceFailure(code, code);

describe("failures of the service", () => {
  it("cost only these tenants, however many, if other calls succeed in between", async () => {
    const world = new World(tenants(...IDS));
    const poisoned = new Set(IDS.filter((_, n) => n % 3 !== 0));
    const report = await world.sync({
      settings: { concurrency: 1 },
      at: ({ when, call, id }) => {
        if (when === "before" && call === "getOrCreate" && poisoned.has(id ?? "")) {
          throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
        }
      },
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 10, failed: 20 } });
  });
});

describe("a server that is not the service", () => {
  it.each<[ServiceFailureCode, number]>([
    ["BAD_RESPONSE", 5],
    ["REFUSED", 100],
  ])("and answers every call with %s gets %i calls", async (code, times) => {
    const world = new World(tenants(...Array.from({ length: 150 }, (_, n) => String(n))));
    const wrong = failing("before", "getOrCreate", service(code));
    const report = await world.sync({ settings, at: wrong });
    expect(report).toMatchObject({ error: { code: "SERVICE_UNAVAILABLE" }, requests: times });
  });

  it("delays no group for long once service.base_url is corrected", async () => {
    const world = new World(tenants("a", "b", "c"));
    const at = failing("before", "getOrCreate", service("BAD_RESPONSE"));
    for (let run = 0; run < 12; run++) {
      expect(await world.sync({ at })).toMatchObject({ outcome: "partial", counts: { failed: 3 } });
      await world.time.sleep(6 * 3_600_000);
    }
    await world.sync({ at });
    await world.time.sleep(10 * 60_000);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 3 } });
  });

  it("is told from a service that fails for the first groups, because later groups succeed", async () => {
    const world = new World(tenants(...IDS));
    const poisoned = new Set(IDS.slice(0, 8));
    const at = ({ when, call, id }: Point): void => {
      if (when === "before" && call === "getOrCreate" && poisoned.has(id ?? ""))
        throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
    };
    let created = 0;
    for (let run = 0; run < 30 && created === 0; run++) {
      created = (await world.sync({ at })).counts.created;
      await world.time.sleep(5 * 60_000);
    }
    expect(created).toBe(22);
  });

  it("is not suspected in a later run whose groups the service refuses", async () => {
    const world = new World(tenants("a"));
    await world.sync();
    world.tenants.push(...tenants(...IDS));
    const report = await world.sync({
      settings,
      at: failing("before", "getOrCreate", service("REFUSED"), { times: 29 }),
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 1, failed: 29 } });
  });
});

const FOREVER = new AbortController().signal;

/**
 * Works through jobs that take a second each. A job whose name begins with "bad" fails, waits ten seconds, and fails again. Resolves to the times in seconds at which the jobs ended.
 */
async function ends(jobs: readonly string[], { concurrency = 1 } = {}): Promise<Record<string, number>> {
  const time = new VirtualTime();
  const left = [...jobs];
  const ended: Record<string, number> = {};
  await work({ clock: new VirtualClock(time), concurrency }, async (waitBeforeRetry) => {
    const job = left.shift();
    if (job === undefined) return false;
    await time.sleep(1_000);
    if (job.startsWith("bad")) {
      await waitBeforeRetry(10_000, FOREVER);
      await time.sleep(1_000);
    }
    ended[job] = time.elapsed / 1_000;
    return true;
  });
  return ended;
}

describe("a job that waits for a retry", () => {
  it("doesn't hold up the others", async () => {
    expect(await ends(["bad", "a", "b"])).toEqual({ a: 2, b: 3, bad: 12 });
    expect(await ends(["bad", "a", "b", "c"], { concurrency: 2 })).toEqual({ a: 1, b: 2, c: 2, bad: 12 });
  });

  it("works with no more than eight others that wait", async () => {
    const bad = Array.from({ length: 12 }, (_, n) => `bad ${n}`);
    const ended = await ends([...bad, "a"]);
    // The ninth keeps the only place until its own retry is over.
    expect(ended).toMatchObject({ "bad 8": 20, a: 24 });
  });
});

it("an error of a worker counts as handled while an earlier worker still works", async () => {
  const time = new VirtualTime();
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  let started = 0;
  const working = work({ clock: new VirtualClock(time), concurrency: 2 }, async () => {
    if (started++ > 0) throw new Error("job 1");
    await time.sleep(1_000);
    // A rejection counts as unhandled once the event loop has turned.
    await new Promise(setImmediate);
    return false;
  });
  await expect(working).rejects.toThrow("job 1");
  expect(unhandled).toEqual([]);
});

it("all workers end before the first error is thrown", async () => {
  const time = new VirtualTime();
  let ended = 0;
  let started = 0;
  const working = work({ clock: new VirtualClock(time), concurrency: 3 }, async () => {
    const n = started++;
    await time.sleep(1_000 * (n + 1));
    ended++;
    if (n < 2) throw new Error(`job ${n}`);
    return false;
  });
  await expect(working).rejects.toThrow("job 0");
  expect(ended).toBe(3);
});
