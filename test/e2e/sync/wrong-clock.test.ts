import { expect, test } from "vitest";
import { fakeTime } from "../../support/servers/fake-time.ts";
import { skipIfNotToBeHad } from "../../support/servers/not-to-be-had.ts";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { aWorld } from "../world.ts";

const GONE = 2;
const WIDE = { grace_period: "24h", limit: { count: 1_000, percent: 100 } };

test("a clock that jumps by 26 hours deletes nobody, and every command names it", async (context) => {
  const world = await aWorld({ tenants: 5, config: { deletion: WIDE, ...EVERY_SECOND } });
  const clock = await fakeTime(world.folder).catch((error) => skipIfNotToBeHad(error, context));
  Object.assign(world.env, clock.env);
  const run = async (...args: string[]) => world.start(...args).ended;

  const daemon = await aDaemon(world);
  await daemon.ran(1);
  const before = await world.live();
  await world.removeTenants(1, GONE);
  const isMissing = ({ missing }: { readonly missing?: number }): boolean => missing === GONE;
  await daemon.says(/its tenant is gone/);
  await clock.set(26);
  await daemon.says(/the clock of this host is 2[56] h \d+ min ahead of the clock of the ledger's database/);
  const { length: runs } = daemon.runs();
  await daemon.ran(runs + 2);
  expect(daemon.runs().at(-1)).toMatchObject({ level: "warn", outcome: "partial", code: "CLOCK_DIFFERS" });
  expect(daemon.runs().every(({ deleted }) => deleted === undefined)).toBe(true);
  expect(daemon.runs().filter(isMissing).length).toBeGreaterThan(1);
  expect((await daemon.page("/")).text).toContain("Needs attention: the clock of this host is");
  expect((await daemon.page("/readyz")).text).toContain("the clock of this host is");
  await daemon.program.stop("SIGTERM");

  const planned = JSON.parse((await run("plan", "--json")).stdout);
  expect(planned).toMatchObject({ delete: [], held: null, missing: [{}, {}] });
  expect(planned.warnings).toContainEqual(expect.objectContaining({ code: "CLOCK_DIFFERS" }));
  expect((await run("plan", "--detailed-exitcode")).code).toBe(3);
  const checked = await run("check");
  expect(checked.stdout).toMatch(/^! plan +CLOCK_DIFFERS: the clock of this host/m);
  const synced = await run("sync");
  expect(synced).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^Done, but the clock of this host/),
  });
  expect((await run("status")).stdout).toMatch(/^Needs attention: the clock of this host/);

  await clock.set(0);
  for (let n = 0; n < 2; n++)
    expect(await run("sync", "--json")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"missing":2'),
    });
  expect(await world.live()).toEqual(before);
});
