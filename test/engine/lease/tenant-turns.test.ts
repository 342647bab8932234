import { describe, expect, it } from "vitest";
import { TenantTurns } from "../../../src/engine/lease/tenant-turns.ts";

/** Waits until all code that needn't wait for anything has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the turn of a tenant", () => {
  it("belongs to one at a time, and others wait for it", async () => {
    const turns = new TenantTurns();
    const first = await turns.take(["a", "b"]);
    const order: string[] = [];
    const second = turns.take(["b", "c"]).then((turn) => {
      order.push("second");
      return turn;
    });
    const other = await turns.take(["d"]);
    await settled();
    expect(order).toEqual([]);
    first.end();
    first.end();
    (await second).end();
    expect(order).toEqual(["second"]);
    other.end();
  });

  it("is never held by two, even if many wait for it", async () => {
    const turns = new TenantTurns();
    let holders = 0;
    let most = 0;
    const work = async (ids: string[]): Promise<void> => {
      const turn = await turns.take(ids);
      most = Math.max(most, ++holders);
      await settled();
      holders--;
      turn.end();
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => work(n % 2 === 0 ? ["a", "b"] : ["b", "a"])));
    expect(most).toBe(1);
  });
});

describe("a look at a tenant", () => {
  it("withdraws what is planned for it, as long as the planned changes are made", async () => {
    const turns = new TenantTurns();
    const withdrawn: string[] = [];
    const planned = { withdraw: async (ids: ReadonlySet<string>) => void withdrawn.push(...ids) };
    await turns.whileMaking(planned, () => turns.looksAt(["a"]));
    await turns.looksAt(["b"]);
    expect(withdrawn).toEqual(["a"]);
  });

  it("makes an older plan outdated, and not a later one", async () => {
    const turns = new TenantTurns();
    const turn = await turns.take(["a"]);
    await turns.looksAt(["a"]);
    turn.end();
    expect([turns.wasLookedAt("a"), turns.wasLookedAt("b")]).toEqual([true, false]);
    turns.beginPlan();
    expect(turns.wasLookedAt("a")).toBe(false);
  });

  it("makes a plan outdated that is begun before the turn ends", async () => {
    const turns = new TenantTurns();
    const turn = await turns.take(["a", "b"]);
    await turns.looksAt(["a", "b"]);
    turn.endOf("b");
    turns.beginPlan();
    expect([turns.wasLookedAt("a"), turns.wasLookedAt("b")]).toEqual([true, false]);
    turn.end();
    expect(turns.wasLookedAt("a")).toBe(true);
    turns.beginPlan();
    expect(turns.wasLookedAt("a")).toBe(false);
  });

  it("is repeated after the plan is made, if it was under way or began while the source was being read", async () => {
    const turns = new TenantTurns();
    const again: string[] = [];
    turns.onceMore((ids) => again.push(...ids));
    const lookAt = async (id: string) => {
      const turn = await turns.take([id]);
      await turns.looksAt([id]);
      return turn;
    };
    (await lookAt("before")).end();
    const underWay = await lookAt("under way");
    turns.beginPlan();
    underWay.end();
    (await lookAt("while reading")).end();
    turns.planIsMade();
    (await lookAt("after")).end();
    expect(again).toEqual(["under way", "while reading"]);
  });
});
