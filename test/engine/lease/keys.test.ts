import { describe, expect, it } from "vitest";
import { Keys } from "../../../src/engine/lease/keys.ts";

/** Waits until all code that needn't wait for anything has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a group", () => {
  it("is held by one at a time, and others wait for it in their order", async () => {
    const keys = new Keys();
    const first = await keys.hold(["a", "b"]);
    const order: string[] = [];
    const second = keys.hold(["c", "b"]).then((hold) => {
      order.push("second");
      return hold;
    });
    const other = await keys.hold(["d"]);
    await settled();
    expect(order).toEqual([]);
    first.release();
    first.release();
    (await second).release();
    expect(order).toEqual(["second"]);
    other.release();
  });

  it("is never held by two, even if many wait for it", async () => {
    const keys = new Keys();
    let holders = 0;
    let most = 0;
    const work = async (ids: string[]): Promise<void> => {
      const hold = await keys.hold(ids);
      most = Math.max(most, ++holders);
      await settled();
      holders--;
      hold.release();
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => work(n % 2 === 0 ? ["a", "b"] : ["b", "a"])));
    expect(most).toBe(1);
  });
});

describe("a lookup of a tenant", () => {
  it("tells whoever holds the group that what was decided is outdated", async () => {
    const keys = new Keys();
    const hold = await keys.hold(["a", "b"]);
    keys.looksUp(["c"]);
    expect(hold.decision.isOutdated).toBe(false);
    keys.looksUp(["b"]);
    expect(hold.decision.isOutdated).toBe(true);
  });

  it("tells whoever holds the group now, although who held it before releases it once more", async () => {
    const keys = new Keys();
    const former = await keys.hold(["a", "b"]);
    former.releaseOne("a");
    const hold = await keys.hold(["a"]);
    former.release();
    keys.looksUp(["a"]);
    expect(hold.decision.isOutdated).toBe(true);
  });

  it("makes an older plan outdated, and not a later one", () => {
    const keys = new Keys();
    keys.looksUp(["a"]);
    keys.served("a");
    expect([keys.wasLookedUp("a"), keys.wasLookedUp("b")]).toEqual([true, false]);
    keys.beginPlan();
    expect(keys.wasLookedUp("a")).toBe(false);
  });

  it("makes a plan outdated that is begun before the tenant is served", () => {
    const keys = new Keys();
    keys.looksUp(["a", "b"]);
    keys.served("b");
    keys.beginPlan();
    expect([keys.wasLookedUp("a"), keys.wasLookedUp("b")]).toEqual([true, false]);
    keys.served("a");
    expect(keys.wasLookedUp("a")).toBe(true);
    keys.beginPlan();
    expect(keys.wasLookedUp("a")).toBe(false);
  });

  it("is repeated after the plan is made, if it was under way or began while the source was being read", () => {
    const keys = new Keys();
    const again: string[] = [];
    keys.whenPlanIsMade((ids) => again.push(...ids));
    keys.looksUp(["before"]);
    keys.served("before");
    keys.looksUp(["under way"]);
    keys.beginPlan();
    keys.served("under way");
    keys.looksUp(["while reading"]);
    keys.planIsMade();
    keys.looksUp(["after"]);
    expect(again).toEqual(["under way", "while reading"]);
  });
});
