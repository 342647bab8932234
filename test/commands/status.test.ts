import { expect, onTestFinished, test, vi } from "vitest";
import { status as runStatus, type StatusFlags, statusCommand } from "../../src/commands/status.ts";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { tenants, World } from "../fakes/world.ts";
import { anIo } from "./an-io.ts";

const DAY = 86_400_000;
const DELETION = { when: "absent", gracePeriodMs: 7 * DAY, limit: { count: 1, percent: 10 } } as const;

async function status(world: World, ...flags: string[]): Promise<string> {
  const { io, context, printed } = anIo();
  const { ledger } = world.ports(new Instance(), new VirtualClock(world.time));
  const command = statusCommand(context).action((parsed: StatusFlags) =>
    runStatus({ ledger, name: "test", deletion: DELETION }, parsed, io),
  );
  await command.parseAsync(flags, { from: "user" });
  return printed.stdout;
}

test("shows since when the oldest token has been live", async () => {
  const world = new World(tenants("a"));
  expect(await status(world)).toContain("\nTokens   none yet\n");
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ tokens: { oldest: null } });

  await world.sync();
  const since = world.ledger.rows.get("a")?.tokenSince?.toISOString();
  await world.time.sleep(60_000);
  world.tenants = tenants("a", "b");
  await world.sync();
  expect(await status(world)).toContain(`\nTokens   oldest from ${since}\n`);
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ tokens: { oldest: since } });
});

test("begins with the missing tenants if they exceed deletion.limit, even before any deletion is due", async () => {
  const ids = ["a", "b", "c", "d", "e"];
  const world = new World(tenants(...ids));
  vi.useFakeTimers({ toFake: ["Date"], now: world.time.now() });
  onTestFinished(() => void vi.useRealTimers());
  const settings = { deletion: DELETION };
  await world.sync({ settings });
  world.tenants = tenants("a", "b", "c", "d");
  await world.sync({ settings });
  expect(await status(world)).toMatch(/^All is well\.\n/);
  world.tenants = tenants("a", "b");
  await world.sync({ settings });
  const headline =
    /^Needs attention: the tenants of 3 of 5 groups are gone, and deletion\.limit lets 1 go in 24 hours: 3 deletions will be held when the grace period is over\.\n/;
  expect(await status(world)).toMatch(headline);
  const numbers = { count: 3, allowed: 1, to_be_held: 3 };
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ went_missing: numbers });
  await world.time.sleep(2 * DAY);
  vi.setSystemTime(world.time.now());
  expect(await status(world)).toMatch(headline);
});

test("--runs sets how many of the last runs are shown", async () => {
  const world = new World(tenants("a"));
  for (let run = 0; run < 12; run++) await world.sync();
  const shown = async (...flags: string[]) => {
    const lines = (await status(world, ...flags)).split("\nLast runs\n")[1]?.trimEnd().split("\n");
    const { runs } = JSON.parse(await status(world, ...flags, "--json"));
    return [lines?.length, runs.length];
  };
  expect(await shown()).toEqual([10, 10]);
  expect(await shown("--runs", "1")).toEqual([1, 1]);
  expect(await shown("--runs", "11")).toEqual([11, 11]);
  expect(await shown("--runs", String(Number.MAX_SAFE_INTEGER))).toEqual([12, 12]);
});

test("a run is shown with its counts, outcome and error", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  world.tenants = [];
  await world.sync();
  const error = { code: "SOURCE_INCONCLUSIVE", message: expect.stringContaining("no valid row") };
  expect(JSON.parse(await status(world, "--json")).runs).toMatchObject([
    { command: "sync", outcome: "held", created: 0, requests: 0, error },
    { command: "sync", outcome: "ok", created: 1, requests: 1, error: null },
  ]);
  expect(await status(world)).toMatch(
    / {2}sync {2}held .*; SOURCE_INCONCLUSIVE: .*\n.* {2}sync {2}ok .* 1 created; 1 request in /,
  );
});

test.each(["0", "-1", "1.5", "1e3", "ten", "", "9007199254740993"])(
  "--runs %j is wrong usage",
  async (runs) => {
    const { io, context, printed } = anIo();
    const command = statusCommand(context).exitOverride().configureOutput({ writeErr: io.stderr });
    await expect(command.parseAsync(["--runs", runs], { from: "user" })).rejects.toMatchObject({
      code: "commander.invalidArgument",
    });
    expect(printed.stderr).toContain("It has to be a whole number from 1 on.");
  },
);

test("shows since when a group has been failing", async () => {
  const world = new World(tenants("a"));
  await world.sync({
    at: ({ when, call }) => {
      if (when === "before" && call === "getOrCreate") throw new ServiceFailure("REFUSED", "HTTP 422");
    },
  });
  const since = world.ledger.rows.get("a")?.failures.change?.since.toISOString();
  expect(await status(world)).toContain(`(1 in a row since ${since}, next try after `);
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({
    failing: [{ user_group_id: "a", since }],
  });
});

test("shows the rejected rows by their reasons, and since when", async () => {
  const nameless = Array.from({ length: 7 }, (_, n) => ({ id: `n-${n}`, name: null }));
  const world = new World([...tenants("a"), ...nameless, { id: null }]);
  await world.sync();
  const since = world.ledger.rejections[0]?.since.toISOString();
  const reason = "name (column name) is null";
  expect(await status(world)).toContain(`
Rejected
  7 rows  VALUE_NULL (since ${since}): ${reason}: n-0, n-1, n-2, n-3, n-4, …
  1 row  ID_NULL (since ${since}): column id is null
  correct the rows, or see docs/rows.md; their groups stay as they are
`);
  expect(JSON.parse(await status(world, "--json")).rejected).toEqual({
    count: 8,
    reasons: [
      { code: "VALUE_NULL", message: reason, rows: 7, since },
      { code: "ID_NULL", message: "column id is null", rows: 1, since },
    ],
    rows: nameless.map(({ id }) => ({ user_group_id: id, code: "VALUE_NULL", message: reason, since })),
  });
  expect(await status(new World(tenants("a")))).not.toContain("Rejected");
});

test("shows the schema-qualified tables of the tokens and of the ledger", async () => {
  const world = new World(tenants("a"));
  expect(await status(world)).toContain("\nTables   ledger in memory.groupsync_*\n");
  const tables = { tokens: [], ledger: "memory.groupsync_*" };
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ tables });
});

test("shows when the service last answered well", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  const { answeredAt } = world.ledger.service;
  await world.time.sleep(3_600_000);
  await world.sync();
  expect(await status(world)).toContain(`, team 7, last answered well at ${answeredAt?.toISOString()}\n`);
  expect(JSON.parse(await status(world, "--json")).service).toMatchObject({
    team_id: 7,
    answered_at: answeredAt?.toISOString(),
  });
});
