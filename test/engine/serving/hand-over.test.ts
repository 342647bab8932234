import { expect, it } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { Point } from "../../fakes/instance.ts";
import { tenants, World } from "../../fakes/world.ts";
import { aSession, slow } from "./a-session.ts";

const ids = Array.from({ length: 200 }, (_, n) => `t${n}`);
const lease = (holder: string, handsOver: boolean) => ({
  ...{ holder, ttlMs: 45_000, callMs: 15_000, handsOver },
  isDead: async () => false,
});

it.each([200, 1_400])(
  "a lookup that is cut short because a command asks for the lease doesn't make the hand-over a failure (after %i ms)",
  async (ms) => {
    const world = slow(new World(tenants(...ids)), 1_000);
    let isNoticed = false;
    /** As the lookup-ups do once the run is ending. */
    const at = async ({ call }: Point): Promise<void> => {
      if (call !== "rowsOf" || !isNoticed) return;
      while (world.ledger.requests.size === 0) await world.time.sleep(100);
      await world.time.sleep(ms);
      throw new SyncError("INTERRUPTED", "told to stop");
    };
    const session = aSession(world, { at, settings: { concurrency: 2, lease: lease("daemon", true) } });
    await world.time.sleep(20_000);
    world.tenants.push(...tenants("new"));
    isNoticed = true;
    session.server.notice("new");
    await world.time.sleep(500);
    const command = world.sync({ settings: { lease: lease("command", false) } });
    expect((await session.run).error).toMatchObject({ code: "LEASE_HANDED_OVER" });
    await session.end();
    expect(await command).toMatchObject({ outcome: "ok" });
  },
);
