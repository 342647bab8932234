import { expect, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { someOf } from "../../support/long.ts";
import { expectInSync } from "../in-sync.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, until, type World } from "../world.ts";

const KINDS: readonly SandboxOptions[] = [
  { deleteBy: "both", existing: "keep", errors: "status" },
  { deleteBy: "token", existing: "update", errors: "body" },
  { deleteBy: "id", existing: "keep", errors: "body" },
  {
    deleteBy: "both",
    existing: "update",
    errors: "status",
    shares: { fail: 0.1, "cut-before": 0, "cut-after": 0.1, html: 0 },
  },
];

/** More requests than any probe of these services needs, if none is repeated. */
const MOST_REQUESTS = 10;

/** More syncs than a canary outlives where calls fail at random. */
const MOST_SYNCS = 3;

const marks = (world: World) =>
  world.database.query<{ canary: string }>("SELECT canary FROM groupsync_scopes WHERE canary IS NOT NULL");

/** Kills the program once the service has this many more requests. */
async function killedAfter(world: World, requests: number): Promise<void> {
  const { total } = await world.requests();
  const program = world.start("probe", "--yes");
  let isOver = false;
  void program.ended.then(() => {
    isOver = true;
  });
  await until(async () => isOver || (await world.requests()).total >= total + requests);
  await program.stop("SIGKILL");
  await untilQuiet(world);
}

test.each(someOf(KINDS))("a sync deletes the canary of a killed probe: %o", async (kind) => {
  const world = await aWorld({
    tenants: 2,
    // Slow enough for the kill to come while the request is under way.
    service: { ...kind, latency: { min: 20, max: 40 } },
    config: { service: { timeout: "1s" } },
  });
  await world.sync();
  for (let requests = 0; requests <= MOST_REQUESTS; requests++) {
    await killedAfter(world, requests);
    const left = (await world.groups()).filter(({ user_group_id: id }) => id.startsWith("groupsync-canary-"));
    for (const { user_group_id } of left)
      expect(await marks(world)).toMatchObject([{ canary: expect.stringContaining(user_group_id) }]);

    for (let syncs = 0; syncs === 0 || (await marks(world)).length > 0; syncs++) {
      expect(syncs).toBeLessThan(kind.shares ? MOST_SYNCS : 1);
      const { code, report } = await world.sync();
      expect({ requests, code, report }).toMatchObject({
        code: 0,
        report: { outcome: "ok", unchanged: 2, deleted: 0, adopted: 0, errors: [] },
      });
    }
    await expectInSync(world);
  }
});

test("a probe that is told to stop deletes its canary first", async () => {
  const world = await aWorld({ tenants: 1, service: { latency: { min: 20, max: 40 } } });
  await world.sync();
  const { total } = await world.requests();
  const program = world.start("probe", "--yes", "--json");
  await until(async () => (await world.requests()).total >= total + 2);
  const { code, stdout } = await program.stop("SIGTERM");
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 1,
    report: { outcome: "failed", canary: { gone: true }, errors: [{ code: "INTERRUPTED" }] },
  });
  expect(await marks(world)).toEqual([]);
  await expectInSync(world);
});
