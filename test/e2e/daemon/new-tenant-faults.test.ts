import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { rounds } from "../../support/long.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, idOf, until, type World } from "../world.ts";
import { aDaemon, signUp, WITH_SYNC_KEY } from "./a-daemon.ts";

const IS_POSTGRES = inject("databaseKind") === "postgres";

const insert = ({ database }: World, id: string): Promise<unknown> =>
  database.query(
    "INSERT INTO customers (id, company_name, warehouse, plan) VALUES ($1, 'Somebody', 'w', 'gold')",
    [id],
  );

/** Everybody has the token that is live at the service. */
async function untilAllHaveTokens(world: World): Promise<void> {
  await until(async () => {
    const rows = await world.database.query("SELECT id FROM customers");
    return Object.keys(await world.stored()).length === rows.length;
  });
  expect(await world.stored()).toEqual(await world.live());
}

const ODD = ["a b", "a'b\\", "ä/ö?x=1&y", "100%25", "💥", "a\u2028b", "<b>", "-- x", "$1 {x}", "a\tb", " a"];
/** On MySQL these are the id of the first tenant, by the column's collation. */
const ODD_ON_POSTGRES = ["t-00001 ", "T-00001"];

test("any id gets its token by POST /sync, and one that no column can hold is unknown", async () => {
  const world = await aWorld({ tenants: 1, config: WITH_SYNC_KEY });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  for (const id of [...ODD, ...(IS_POSTGRES ? ODD_ON_POSTGRES : [])]) {
    await insert(world, id);
    expect(await signUp(daemon, id)).toEqual({
      status: 200,
      json: { user_group_id: id, outcome: "created" },
    });
  }
  for (const id of ["a\u0000b", "x".repeat(200), "T-00001x", "t-00001  ", "T-00001 "])
    expect(await signUp(daemon, id)).toMatchObject({ status: 404 });
  expect((await signUp(daemon, idOf(1))).status).toBe(200);
  await untilAllHaveTokens(world);
  expect(daemon.runs()).toHaveLength(1);
});

const KILLS = rounds(20);

test(`a daemon that is killed ${KILLS} times while it serves single tenants leaves no tenant without a token`, async () => {
  const world = await aWorld({
    tenants: 2,
    service: { latency: { min: 5, max: 60 } },
    config: { ...WITH_SYNC_KEY, service: { timeout: "1s" } },
  });
  for (let kill = 1; kill <= KILLS; kill++) {
    const daemon = await aDaemon(world);
    await daemon.ran(1);
    const ids = Array.from({ length: 20 }, (_, n) => `k${kill}-${n}`);
    const posts = ids.map(async (id) => {
      await insert(world, id);
      await signUp(daemon, id, { wait: "0" }).catch(() => {});
    });
    await until(async () => Object.keys(await world.live()).length > 2 + 20 * (kill - 1));
    await sleep(Math.random() * 150);
    await daemon.program.stop("SIGKILL");
    await Promise.all(posts);
  }
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await untilAllHaveTokens(world);
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
  await expectInSync(world);
});
