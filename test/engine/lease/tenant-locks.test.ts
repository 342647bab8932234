import { describe, expect, it } from "vitest";
import { TenantLocks } from "../../../src/engine/lease/tenant-locks.ts";

/** Waits until all code that needn't wait for anything has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the lock of a tenant", () => {
  it("belongs to one at a time, and others wait for it", async () => {
    const locks = new TenantLocks();
    const first = await locks.acquire(["a", "b"]);
    const order: string[] = [];
    const second = locks.acquire(["b", "c"]).then((lock) => {
      order.push("second");
      return lock;
    });
    const other = await locks.acquire(["d"]);
    await settled();
    expect(order).toEqual([]);
    first.release();
    first.release();
    (await second).release();
    expect(order).toEqual(["second"]);
    other.release();
  });

  it("is never held by two, even if many wait for it", async () => {
    const locks = new TenantLocks();
    let holders = 0;
    let most = 0;
    const work = async (ids: string[]): Promise<void> => {
      const lock = await locks.acquire(ids);
      most = Math.max(most, ++holders);
      await settled();
      holders--;
      lock.release();
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => work(n % 2 === 0 ? ["a", "b"] : ["b", "a"])));
    expect(most).toBe(1);
  });
});

describe("a lookup of a tenant", () => {
  it("withdraws what is planned for it, as long as the planned changes are made", async () => {
    const locks = new TenantLocks();
    const withdrawn: string[] = [];
    const planned = { withdraw: async (ids: ReadonlySet<string>) => void withdrawn.push(...ids) };
    await locks.whileMaking(planned, () => locks.looksUp(["a"]));
    await locks.looksUp(["b"]);
    expect(withdrawn).toEqual(["a"]);
  });

  it("makes an older plan outdated, and not a later one", async () => {
    const locks = new TenantLocks();
    const lock = await locks.acquire(["a"]);
    await locks.looksUp(["a"]);
    lock.release();
    expect([locks.wasLookedUp("a"), locks.wasLookedUp("b")]).toEqual([true, false]);
    locks.beginPlan();
    expect(locks.wasLookedUp("a")).toBe(false);
  });

  it("makes a plan outdated that is begun before the lock ends", async () => {
    const locks = new TenantLocks();
    const lock = await locks.acquire(["a", "b"]);
    await locks.looksUp(["a", "b"]);
    lock.releaseOne("b");
    locks.beginPlan();
    expect([locks.wasLookedUp("a"), locks.wasLookedUp("b")]).toEqual([true, false]);
    lock.release();
    expect(locks.wasLookedUp("a")).toBe(true);
    locks.beginPlan();
    expect(locks.wasLookedUp("a")).toBe(false);
  });

  it("is repeated after the plan is made, if it was under way or began while the source was being read", async () => {
    const locks = new TenantLocks();
    const again: string[] = [];
    locks.onceMore((ids) => again.push(...ids));
    const lookAt = async (id: string) => {
      const lock = await locks.acquire([id]);
      await locks.looksUp([id]);
      return lock;
    };
    (await lookAt("before")).release();
    const underWay = await lookAt("under way");
    locks.beginPlan();
    underWay.release();
    (await lookAt("while reading")).release();
    locks.planIsMade();
    (await lookAt("after")).release();
    expect(again).toEqual(["under way", "while reading"]);
  });
});
