import { expect, onTestFinished, test, vi } from "vitest";
import { statusJson, statusText } from "../../src/commands/output/status.ts";
import { status as runStatus, type StatusFlags, statusCommand } from "../../src/commands/status.ts";
import { NOBODY_MISSING } from "../../src/core/deletion/missing-tenants.ts";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import type { Failure } from "../../src/core/failure/sync-error.ts";
import { type Counts, noCounts, runOutcome } from "../../src/core/report/counts.ts";
import type { LedgerStatus } from "../../src/core/report/scope-facts.ts";
import { DEFAULT_CONFIG } from "../../src/core/text/printable.ts";
import type { RecordedRun } from "../../src/ports/ledger/scope.ts";
import { aLedgerStatus, aRecordedRun } from "../builders/daemon-state.ts";
import { failing, Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants, World } from "../fakes/world.ts";
import { anIo } from "./an-io.ts";

const DAY = 86_400_000;
const DELETION = { when: "absent", gracePeriodMs: 7 * DAY, limit: { count: 1, percent: 10 } } as const;
const SETTINGS = { name: "test", deletion: DELETION, rotation: syncSettings().rotation };

async function status(world: World, ...flags: string[]): Promise<string> {
  const { io, context, printed } = anIo();
  const { ledger } = world.ports(new Instance(), new VirtualClock(world.time));
  const command = statusCommand(context).action((parsed: StatusFlags) =>
    runStatus(ledger, SETTINGS, { ...parsed, config: "my config.yaml" }, io),
  );
  await command.parseAsync(flags, { from: "user" });
  return printed.stdout;
}

test("shows since when the oldest token has been live", async () => {
  const world = new World(tenants("a"));
  expect(await status(world)).toContain("\n  Oldest token  none yet\n");
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ tokens: { oldest: null } });

  await world.sync();
  const since = world.ledger.rows.get("a")?.tokenSince?.toISOString();
  await world.time.sleep(60_000);
  world.tenants = tenants("a", "b");
  await world.sync();
  expect(await status(world)).toContain(`\n  Oldest token  ${since}\n`);
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
  expect(await status(world)).toContain(": groupsync --config 'my config.yaml' plan\n");
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
  const world = await aSyncedWorld(["a"]);
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

test.each(["0", "1.5", "", "9007199254740993"])("--runs %j is wrong usage", async (runs) => {
  const { io, context, printed } = anIo();
  const command = statusCommand(context).exitOverride().configureOutput({ writeErr: io.stderr });
  await expect(command.parseAsync(["--runs", runs], { from: "user" })).rejects.toMatchObject({
    code: "commander.invalidArgument",
  });
  expect(printed.stderr).toContain("It has to be a whole number from 1 on.");
});

test("shows since when a group has been failing", async () => {
  const world = new World(tenants("a"));
  await world.sync({
    at: failing("before", "getOrCreate", () => new ServiceFailure("REFUSED", "HTTP 422")),
  });
  const since = world.ledger.rows.get("a")?.failures.change?.since.toISOString();
  expect(await status(world)).toContain(`REFUSED (since ${since}, next try after `);
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
  8 rows, at least 7 of them without any token:
    7 rows  n-0, n-1, n-2, n-3, n-4, n-5, n-6  VALUE_NULL (since ${since}): ${reason}
    1 row  ID_NULL (since ${since}): column id is null
  what helps against VALUE_NULL: fill the column. Or add a default to the column's rule, or optional: true to a property's template
  what helps against ID_NULL: fill the id column, or exclude the row with source.where
`);
  expect(JSON.parse(await status(world, "--json")).rejected).toEqual({
    count: 8,
    reasons: [
      { code: "VALUE_NULL", message: reason, rows: 7, since },
      { code: "ID_NULL", message: "column id is null", rows: 1, since },
    ],
    rows: nameless.map(({ id }) => ({ user_group_id: id, code: "VALUE_NULL", message: reason, since })),
  });
  expect(await status(new World(tenants("a")))).not.toContain("rejected");
});

test("shows the schema-qualified tables of the tokens and of the ledger", async () => {
  const world = new World(tenants("a"));
  expect(await status(world)).toContain("; memory.groupsync_*\n");
  const tables = { tokens: [], ledger: "memory.groupsync_*" };
  expect(JSON.parse(await status(world, "--json"))).toMatchObject({ tables });
});

test("shows when the service last answered well", async () => {
  const world = await aSyncedWorld(["a"]);
  const { answeredAt } = world.ledger.service;
  await world.time.sleep(3_600_000);
  await world.sync();
  expect(await status(world)).toContain(`\n  Service  answered ${answeredAt?.toISOString()}; `);
  expect(JSON.parse(await status(world, "--json")).service).toMatchObject({
    team_id: 7,
    answered_at: answeredAt?.toISOString(),
  });
});

const NOW = new Date("2026-03-01T12:00:00Z");

function aRun(command: string, counts: Partial<Counts>, error: Failure | null = null): RecordedRun {
  const all = { ...noCounts(), ...counts };
  const outcome = error ? "failed" : runOutcome(all);
  const result = { outcome, counts: all, requests: 1, error };
  return aRecordedRun({ command, startedAt: NOW, finishedAt: NOW, result });
}

const known = (overrides: Partial<LedgerStatus>): LedgerStatus => ({
  ...aLedgerStatus({ readAt: NOW }),
  names: new Map([["globex", "Globex\u202e Ltd"]]),
  tables: { tokens: [], ledger: "public.groupsync_*" },
  missing: { ...NOBODY_MISSING, owned: 9, allowed: 3 },
  ...overrides,
});

/** The newest run first. */
const textAfter = (shownRuns: readonly RecordedRun[], status: Partial<LedgerStatus> = {}): string =>
  statusText(known(status), shownRuns, DEFAULT_CONFIG, false);

test("lists held removals with the command that approves them", () => {
  const groups = [
    { kind: "delete", user_group_id: "acme" },
    { kind: "replace", user_group_id: "globex" },
  ] as const;
  const held = { count: 2, code: "0123456789ab", groups };
  const text = textAfter([aRun("sync", { held: 2 })], { held, runs: [aRun("sync", { held: 2 })] });
  expect(text.split("\n")[0]).toBe("Needs attention: 2 removals held.");
  expect(text).toContain(`
  2 groups:
    delete  acme
    replace  globex  "Globex\\u{202e} Ltd"
  If they are meant to go; the code approves exactly these, once: groupsync sync --approve-deletions 0123456789ab
`);
  expect(JSON.parse(statusJson(known({ held }), []))).toMatchObject({ held: { code: held.code, count: 2 } });
});

const refused = { code: "KEY_REFUSED", message: "the service refuses the key" };

test("aligns the outcomes of the runs", () => {
  const runs = textAfter([aRun("rotate", { rotated: 1 }), aRun("sync", {})]).split("Last runs\n")[1];
  expect(runs?.split("\n").map((line) => line.indexOf("ok"))).toEqual([36, 36, -1]);
});

test.each<[string, RecordedRun, string]>([
  ["with nothing to do", aRun("sync", { unchanged: 9 }), "ok       nothing to do; 1 request in 0 ms"],
  ["that was a probe", aRun("probe", {}), "ok       1 request in 0 ms"],
  [
    "that changed something",
    aRun("sync", { created: 2, failed: 1, unchanged: 9 }),
    "partial  2 created, 1 failed; 1 request in 0 ms",
  ],
  [
    "that failed in the middle",
    aRun("sync", { created: 2 }, refused),
    "failed   2 created; 1 request in 0 ms; KEY_REFUSED: the service refuses the key",
  ],
  [
    "that failed before anything",
    aRun("sync", {}, { ...refused, message: `\u0007${"x".repeat(500)}` }),
    `failed   1 request in 0 ms; KEY_REFUSED: \\u0007${"x".repeat(113)}…`,
  ],
])("a run %s has one line that says it all", (_, run, line) => {
  expect(textAfter([run])).toContain(`  2026-03-01T12:00:00.000Z  ${run.command}  ${line}\n`);
});

test("only the newest run can be running: an earlier run without an end did not finish", () => {
  const open = { ...aRun("sync", {}), finishedAt: null, result: null };
  const lease = { holder: "another", epoch: "1", acquiredAt: NOW, expiresAt: NOW, handOverMs: null };
  const later = new Date(NOW.getTime() + 2_500);
  expect(statusText(known({ lease, readAt: later }), [open, open], DEFAULT_CONFIG, false)).toContain(`
Last runs
  2026-03-01T12:00:00.000Z  sync  running for 2.5 s
  2026-03-01T12:00:00.000Z  sync  did not finish
`);
});

test("the first line is about the last sync, even if --runs doesn't show that sync", () => {
  const runs = [aRun("rotate", { rotated: 1 }), aRun("sync", { outdated: 2 })];
  const text = statusText(known({ runs }), runs.slice(0, 1), DEFAULT_CONFIG, false);
  expect(text.split("\n")[0]).toBe("Needs attention: 2 outdated groups.");
  expect(text).not.toContain("  sync  ");
});

test("--exit-code tells whether all is well, and --json which incidents there are", async () => {
  const world = await aSyncedWorld(["a"]);
  const { ledger } = world.ports(new Instance(), new VirtualClock(world.time));
  const codeOf = async (
    flags: Partial<StatusFlags>,
  ): Promise<[number | undefined, { incidents: unknown }]> => {
    const { io, printed } = anIo();
    const codes: number[] = [];
    const told = { ...io, finish: (exit: number) => void codes.push(exit) };
    await runStatus(ledger, SETTINGS, { runs: 1, json: true, config: DEFAULT_CONFIG, ...flags }, told);
    return [codes[0], JSON.parse(printed.stdout)];
  };
  expect(await codeOf({ exitCode: true })).toMatchObject([0, { state: "good", incidents: [] }]);
  world.tenants = [{ id: "b", name: null }];
  await world.sync();
  const rejected = { kind: "rejected", state: "attention", since: expect.any(String), commands: [] };
  const [code, { incidents }] = await codeOf({ exitCode: true });
  expect([code, incidents]).toEqual([3, expect.arrayContaining([expect.objectContaining(rejected)])]);
  expect((await codeOf({}))[0]).toBeUndefined();
});
