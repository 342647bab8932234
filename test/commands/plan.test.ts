import { describe, expect, test } from "vitest";
import { writePlanJson } from "../../src/commands/output/plan-json.ts";
import { writePlanText } from "../../src/commands/output/plan-text.ts";
import { type PlanFlags, planCommand, plan as runPlan } from "../../src/commands/plan.ts";
import { NO_EVIDENCE } from "../../src/core/apply/update-evidence.ts";
import { ABSENCE_TEXT } from "../../src/core/deletion/missing-tenants.ts";
import { RemovalSummaryBuilder } from "../../src/core/deletion/removals.ts";
import { NO_FAILURES } from "../../src/core/failure/group-failures.ts";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import type { Decision, Missing, PlannedAction } from "../../src/core/record/decide.ts";
import type { GroupRecord } from "../../src/core/record/record.ts";
import type { RotationPolicy } from "../../src/core/rotation/rotation-policy.ts";
import type { DueRotations } from "../../src/engine/check/due-rotations.ts";
import type { SyncForecast } from "../../src/engine/check/sync-forecast.ts";
import type { PlanSettings } from "../../src/engine/plan/make-plan.ts";
import type { Plan } from "../../src/engine/plan/plan.ts";
import { PlanBuilder } from "../../src/engine/plan/plan-builder.ts";
import type { RefreshPolicy } from "../../src/engine/refresh/refresh-start.ts";
import type { SyncSettings } from "../../src/engine/sync.ts";
import { aReading, aRejectedTenant, aReplace, aTenantNotReady } from "../builders/groups.ts";
import { someRules } from "../builders/rules.ts";
import { type Fate, failing, Instance } from "../fakes/instance.ts";
import { openSpool } from "../fakes/spool.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { aSyncedWorld, BASE_URL, tenants, World } from "../fakes/world.ts";
import { anIo, type Printed } from "./an-io.ts";

const HOUR = 3_600_000;
const rules = someRules();
const ROTATION: RotationPolicy = { maxAgeMs: HOUR, window: null, maxPerRun: null, concurrency: 1 };
const storing = { code: "REFUSED", message: "no", count: 9, since: new Date(0), retryAt: new Date(9e12) };
/** Without rotation.max_age. */
const rotation: RotationPolicy = { ...ROTATION, maxAgeMs: null };

interface PlanOptions {
  readonly tokenDestinations?: string[];
  readonly baseUrl?: string;
  /** What the token store says when it is inspected. */
  readonly inspect?: () => Promise<void>;
  readonly flags?: string[];
  readonly settings?: Partial<PlanSettings>;
  readonly refresh?: RefreshPolicy;
  readonly at?: Fate["at"];
}

async function plan(
  world: World,
  rotation: RotationPolicy,
  {
    tokenDestinations = ["here"],
    baseUrl = BASE_URL,
    inspect = async () => {},
    flags = ["--detailed-exitcode"],
    settings: overrides = {},
    refresh = { everyMs: null },
    at,
  }: PlanOptions = {},
): Promise<Printed> {
  const { io, context, printed } = anIo();
  const { source, ledger, tokens, openSpool } = world.ports(
    new Instance({ at }),
    new VirtualClock(world.time),
  );
  const settings = {
    name: "default",
    rules,
    update: "upsert",
    deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 9, percent: 9 } },
    source: "customers",
    ...overrides,
  } as const;
  const setup = {
    ports: { source, ledger, openSpool },
    settings,
    rotation,
    refresh,
    tokens: { inspect, destinations: tokens.destinations },
    tokenDestinations,
    baseUrl,
    clock: new VirtualClock(world.time),
  };
  await planCommand(context)
    .action((parsed: PlanFlags) => runPlan(setup, parsed, io))
    .parseAsync(flags, { from: "user" })
    .catch((error: unknown) => {
      if (!(error instanceof SyncError)) throw error;
      printed.stderr += error.message;
    });
  return printed;
}

const detailedExitCode = async (world: World, rotation: RotationPolicy): Promise<number> =>
  (await plan(world, rotation)).code;

test("a new token destination is a pending change", async () => {
  const world = await aSyncedWorld(["a"], { rules });
  const elsewhere = ["elsewhere"];
  const lacking = {
    code: 2,
    stdout: expect.stringMatching(/^Nothing to do: .*\nTokens may be missing: .* in elsewhere, and writes/),
  };
  expect(await plan(world, rotation, { tokenDestinations: elsewhere })).toMatchObject(lacking);
  const json = await plan(world, rotation, { tokenDestinations: elsewhere, flags: ["--json"] });
  expect(JSON.parse(json.stdout)).toMatchObject({ create: [], tokens_may_be_missing_in: elsewhere });
  // Some of them are there by now, and nobody has looked for the others.
  await world.startRotation({ kind: "all" }, { settings: { tokenDestinations: elsewhere } }).report;
  expect(await plan(world, rotation, { tokenDestinations: elsewhere })).toMatchObject(lacking);
  await world.sync({ settings: { rules, tokenDestinations: elsewhere } });
  expect(await plan(world, rotation, { tokenDestinations: elsewhere })).toMatchObject({ code: 0 });
});

describe("--only", () => {
  const aWorld = async (): Promise<World> => {
    const world = await aSyncedWorld(["a", "b", "c"], { rules });
    world.tenants = [...tenants("a", "d", "e"), { id: "b", name: "New", plan: "gold" }];
    return world;
  };
  const only = (...ids: string[]): string[] => ids.flatMap((id) => ["--only", id]);

  test("shows these tenants alone, as text", async () => {
    const world = await aWorld();
    const flags = only("a", "b", "c", "d");
    const { stdout, code } = await plan(world, rotation, { flags });
    expect(code).toBe(0);
    const [before] = stdout.split("Tables:");
    expect(before).toBe(`\
~ b
    name: "Name of b" → "New"
= c  "Name of c"  its tenant is gone; deleted by the next sync of all tenants
+ d  "Name of d"

Plan: 1 to create, 1 to update, 0 to delete, 1 unchanged, 1 missing.
`);
  });

  test("shows these tenants alone, as JSON", async () => {
    const world = await aWorld();
    world.tenants = [...world.tenants, { id: "f", name: "F", removed: true }];
    const flags = ["--json", ...only("b", "c", "d", "f")];
    const { stdout } = await plan(world, { ...ROTATION, maxAgeMs: 0 }, { flags });
    expect(JSON.parse(stdout)).toMatchObject({
      create: [{ user_group_id: "d" }],
      update: [{ user_group_id: "b", changes: [{ field: "name", from: "Name of b", to: "New" }] }],
      delete: [],
      missing: [{ user_group_id: "c", absence: "absent", due_in_ms: 0 }],
      gone: [{ user_group_id: "f" }],
      held: null,
      // `sync --only` rotates nothing.
      rotate: [],
      rotations_due: 0,
      unchanged: 0,
    });
  });

  test("says of a tenant that is gone that it has no group", async () => {
    const world = await aWorld();
    world.tenants = [{ id: "f", name: "F", removed: true }];
    const { stdout } = await plan(world, rotation, { flags: only("f") });
    expect(stdout).toContain("= f  its tenant is gone, and there is no group of it\n");
    expect(stdout).toContain("0 unchanged, 1 gone.");
  });

  test.each([
    ["a", 0],
    ["b", 2],
    ["c", 0],
    ["d", 2],
  ])("--detailed-exitcode: for %s alone %i", async (id, code) => {
    const flags = ["--detailed-exitcode", ...only(id)];
    const options = { flags, tokenDestinations: ["elsewhere"] };
    expect(await plan(await aWorld(), { ...ROTATION, maxAgeMs: 0 }, options)).toMatchObject({ code });
  });
});

const warningsOf = async (world: World, settings: Partial<SyncSettings> = {}): Promise<unknown> => {
  const { events, report } = world.start({ settings: { rules, ...settings } });
  await report;
  return events.flatMap((event) => {
    if (event.kind !== "warning") return [];
    const { kind: _, ...warning } = event;
    return [warning];
  });
};

describe("a plan says what a sync would warn of", () => {
  test("about a lost ledger: groups are adopted, and groups of missing tenants are not tracked any more", async () => {
    const world = await aSyncedWorld(["a", "b", "c"], { rules });
    world.ledger.clear();
    world.tenants = tenants("a", "b");
    const text = await plan(world, rotation);
    const json = await plan(world, rotation, { flags: ["--json"] });
    expect(text).toMatchObject({ code: 2, stdout: expect.stringContaining("\nPlan: 2 to create") });
    const { warnings, failures } = JSON.parse(json.stdout);
    expect({ code: json.code, failures }).toEqual({ code: 0, failures: [] });
    expect(warnings).toMatchObject([{ code: "LEDGER_EMPTY" }, { code: "GROUP_UNTRACKED" }]);
    for (const { message, hint } of warnings)
      expect(text.stdout).toContain(`\nA sync would warn: ${message}\n  ${hint}\n`);
    expect(await warningsOf(world)).toEqual(warnings);
    expect(JSON.parse((await plan(world, rotation, { flags: ["--json"] })).stdout)).toMatchObject({
      warnings: [],
    });
  });

  test("but not if the sync would fail before it could warn", async () => {
    const world = await aSyncedWorld(["a"], { rules });
    world.ledger.clear();
    const inspect = async (): Promise<void> => {
      throw new SyncError("CONFIG_COLUMNS", "tokens.table: customers has no column token");
    };
    const { stdout } = await plan(world, rotation, { inspect, flags: ["--json"] });
    expect(JSON.parse(stdout)).toMatchObject({ warnings: [], failures: [{ code: "CONFIG_COLUMNS" }] });
  });
});

describe("a plan says why a sync would fail, and ends with that sync's exit code", () => {
  test.each([[[]], [["--detailed-exitcode"]]])(
    "if the ledger belongs to another service, with the flags %j",
    async (flags) => {
      const world = await aSyncedWorld(["a"], { rules });
      world.tenants = tenants("a", "b");
      const baseUrl = "https://staging.example.com";
      const { error } = await world.sync({ settings: { rules, baseUrl } });
      expect(error).toMatchObject({ code: "SERVICE_CHANGED", message: expect.stringContaining(baseUrl) });
      const planned = await plan(world, rotation, { baseUrl, flags });
      expect(planned.code).toBe(1);
      expect(planned.stdout).toContain("\nPlan: 1 to create");
      expect(planned.stdout).toContain(`\nA sync would fail: ${error?.message}\n  ${error?.hint}\n`);
    },
  );
});

describe("a plan says of the refresh what the next sync does", () => {
  const refresh = { everyMs: 2 * HOUR };
  const deletion = { when: "absent", gracePeriodMs: 0, limit: { count: 3, percent: 0 } } as const;
  const ids = Array.from({ length: 20 }, (_, index) => `t${index + 10}`);
  const aWorld = async (): Promise<World> => {
    const world = await aSyncedWorld(ids, { rules });
    await world.time.sleep(HOUR);
    return world;
  };

  test("how many groups it asks for", async () => {
    const world = await aWorld();
    const { stdout, code } = await plan(world, rotation, { refresh });
    const json = await plan(world, rotation, { refresh, flags: ["--json"] });
    const { counts } = await world.sync({ settings: { rules, refresh } });
    expect(counts.refreshed).toBeGreaterThan(0);
    expect(stdout).toContain(
      `\nBeyond that, ${counts.refreshed} groups to ask for again (service.refresh).\n`,
    );
    expect(code).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({ refresh_due: counts.refreshed, refresh_held: null });
  });

  test("that it is held, with the code", async () => {
    const world = await aWorld();
    world.service.groups.clear();
    await world.sync({ refresh: true, settings: { rules, deletion } });
    await world.time.sleep(HOUR);
    const options = { refresh, settings: { deletion } };
    const text = await plan(world, rotation, options);
    const json = await plan(world, rotation, { ...options, flags: ["--json"] });
    const { refreshHold, outcome } = await world.sync({ settings: { rules, deletion, refresh } });
    expect(outcome).toBe("held");
    expect(text.code).toBe(4);
    expect(text.stdout).toContain(`\nHeld: ${refreshHold?.message}.\n  ${refreshHold?.hint}\n`);
    expect(text.stdout).not.toContain("Beyond that");
    const { refresh_due, refresh_held } = JSON.parse(json.stdout);
    const gone = world.ledger.found.length;
    expect({ refresh_due, refresh_held }).toEqual({
      refresh_due: refreshHold?.count,
      refresh_held: { code: refreshHold?.approval, gone, allowed: 3 },
    });
  });

  test("that nobody may be asked, because service.update is never", async () => {
    const world = await aWorld();
    world.ledger.service = { ...world.ledger.service, evidence: { ...NO_EVIDENCE, probe: true } };
    const options = { refresh, settings: { update: "never" } } as const;
    const text = await plan(world, rotation, options);
    const json = await plan(world, rotation, { ...options, flags: ["--json"] });
    const warnings = await warningsOf(world, { update: "never", refresh });
    expect(warnings).toMatchObject([{ code: "REFRESH_UNSAFE" }]);
    expect(JSON.parse(json.stdout)).toMatchObject({ warnings, refresh_held: null });
    expect(text.stdout).toContain(
      "\nA sync would warn: no group is asked for again: service.update is never",
    );
    expect(text.stdout).not.toContain("Beyond that");
  });
});

test("--detailed-exitcode: a rotation that is due is a pending change, and a rotation that waits for its next try is not", async () => {
  const world = await aSyncedWorld(["a"], { rules });
  expect(await detailedExitCode(world, ROTATION)).toBe(0);
  await world.time.sleep(HOUR);
  expect(await detailedExitCode(world, ROTATION)).toBe(2);
  const window = { from: 600, to: 660, timeZone: "UTC" };
  expect(await detailedExitCode(world, { ...ROTATION, window })).toBe(0);

  const refuse = failing("before", "rotate", () => new ServiceFailure("REFUSED", "success is 0"));
  for (let times = 0; times < 3; times++) {
    await world.sync({ settings: { rules, rotation: ROTATION }, at: refuse });
  }
  // As a sync would end: one group is failing.
  expect(await detailedExitCode(world, ROTATION)).toBe(3);
});

test.each<[string, number, Partial<GroupRecord>, string]>([
  ["a group in doubt", 2, { doubt: "rewind" }, "2 unchanged, 1 in doubt."],
  ["an earlier call under way", 2, { intent: "rotate" }, "? a  a GET asks for its live token"],
  ["a token that is not stored", 3, { failures: { ...NO_FAILURES, storing } }, "1 not in every store."],
])('%s is not "nothing to do", and ends with %i', async (_, code, owing, text) => {
  const world = await aSyncedWorld(["a", "b"], { rules });
  const row = world.ledger.rows.get("a");
  if (row) world.ledger.rows.set("a", { ...row, ...owing });
  if (owing.intent) world.tenants = [{ id: "a", name: null, plan: "gold" }, ...tenants("b")];
  expect(await plan(world, rotation)).toMatchObject({ code, stdout: expect.stringContaining(text) });
  expect((await plan(world, rotation, { flags: ["--detailed-exitcode", "--only", "a"] })).code).toBe(code);
});

test("if the tokens belong to another config, plan fails as a sync does, and writes no owner's mark", async () => {
  const world = new World(tenants("a"));
  await plan(world, ROTATION);
  expect(world.store.owner).toBeNull();
  await world.sync({ settings: { rules, name: "production" } });
  const { owner } = world.store;
  expect(await plan(world, ROTATION)).toMatchObject({
    code: 78,
    stdout: expect.stringContaining('belong to "production"'),
  });
  expect(world.store.owner).toBe(owner);
});

describe("if the source can't be read", () => {
  const at = ({ call }: { call: string }): void => {
    if (call === "openSource") throw new SyncError("SOURCE_UNAVAILABLE", "cannot read customers");
  };
  const aWorld = async (): Promise<World> => {
    const world = new World(tenants("a"));
    world.store.isUnmarkable = true;
    await world.sync({ settings: { rules } });
    return world;
  };

  test("nor the owner's mark, plan reports the source alone", async () => {
    expect(await plan(await aWorld(), ROTATION, { at })).toMatchObject({
      stdout: "",
      stderr: "cannot read customers",
    });
  });

  test("plan reports the other reasons too", async () => {
    const { stderr } = await plan(await aWorld(), ROTATION, { at, baseUrl: "https://staging.example.com" });
    expect(stderr).toMatch(/^A sync would fail: .*staging.*cannot read customers$/s);
  });

  test("a bug that is met while the other reasons are looked for doesn't hide the source", async () => {
    const inspect = async (): Promise<void> => {
      throw new TypeError("a bug");
    };
    expect((await plan(await aWorld(), ROTATION, { at, inspect })).stderr).toBe("cannot read customers");
  });
});

/** What the text ends with. */
const TABLES =
  "Tables: tenants from public.customers, tokens in public.groupsync_tokens of groupsync, ledger in public.groupsync_*.\n";

const NO_ROTATIONS: DueRotations = { total: 0, count: 0, next: [], waiting: [] };

const aProspect = (plan: Plan, rotations: DueRotations): SyncForecast => ({
  plan,
  tables: {
    source: "public.customers",
    tokens: ["public.groupsync_tokens of groupsync"],
    ledger: "public.groupsync_*",
  },
  rotations,
  refresh: null,
  notStored: 0,
  tokensMayBeMissingIn: [],
  failures: [],
  warnings: [],
});

/** Beside so many tenants that are there. */
function aPlan(
  unchanged: number,
  missing?: Omit<Missing, "kind" | "user_group_id">,
  { notReady = 0, isWhole = true } = {},
): Plan {
  const builder = aBuilder();
  builder.addUnread({ unchanged, notReady: isWhole ? notReady : 0, owing: 0 });
  if (notReady > 0) builder.add(undefined, only(aTenantNotReady()));
  if (missing) builder.add(undefined, only({ kind: "missing", user_group_id: "acme", ...missing }));
  return built(builder, isWhole);
}

const only = (action: PlannedAction): Decision => ({ action, note: null, settles: false });

const aBuilder = (): PlanBuilder =>
  new PlanBuilder(openSpool(), new RemovalSummaryBuilder({ name: "default", baseUrl: null, approvals: 0 }));

const built = (builder: PlanBuilder, isWhole = true): Plan =>
  builder.build(
    { reading: aReading(), isWhole, sourceTable: null, warnings: [], unknown: new Set() },
    { recent: 0, limit: { count: 3, percent: 10 } },
  );

const NOTHING = new World();
const { ledger: EMPTY_LEDGER } = NOTHING.ports(new Instance(), new VirtualClock(NOTHING.time));

test("counts rows that aren't ready, and names them if it is about some tenants alone", async () => {
  expect(await textOf(aPlan(2, undefined, { notReady: 3 }))).toMatch(/^Plan: .*2 unchanged, 4 not ready\.$/m);
  expect(await textOf(aPlan(2, undefined, { notReady: 3 }))).not.toContain("acme");
  expect(await textOf(aPlan(0, undefined, { notReady: 1, isWhole: false }))).toContain(
    "= acme  not ready: source.ready_when is not true of its row\n",
  );
});

test("says what a replacement does to the token", async () => {
  const builder = aBuilder();
  builder.add(undefined, only(aReplace({ user_group_id: "acme" })));
  expect(await textOf(built(builder))).toContain("± acme  deleted and made anew, with a new token\n");
});

async function textOf(plan: Plan, rotations: Partial<DueRotations> = {}): Promise<string> {
  const parts: string[] = [];
  const due = { ...NO_ROTATIONS, ...rotations };
  await writePlanText(aProspect(plan, due), EMPTY_LEDGER, (part) => parts.push(part), false);
  return parts.join("");
}

test.each<[string, Omit<Missing, "kind" | "user_group_id">, string]>([
  [
    "is deleted in the end",
    { absence: "absent", dueInMs: HOUR },
    "deleted after another 1 h 0 min of absence",
  ],
  ["is kept", { absence: "absent", dueInMs: null }, "kept"],
  [
    "is held first",
    { absence: "unseen", dueInMs: HOUR },
    "held for approval after another 1 h 0 min of absence",
  ],
])("a group whose tenant is gone %s", async (_, missing, end) => {
  const [line] = (await textOf(aPlan(1, missing))).split("\n");
  expect(line).toBe(`= acme  ${ABSENCE_TEXT[missing.absence]}; ${end}`);
});

test("a group that counts as held, because no row is valid, doesn't count as missing as well", async () => {
  const text = await textOf(aPlan(0, { absence: "absent", dueInMs: HOUR }));
  expect(text).toContain("\nPlan: 0 to create, 0 to update, 0 to delete, 0 unchanged, 1 held.\n");
});

const tokenSince = new Date("2026-03-01T02:00:00Z");
const retryAt = new Date("2026-06-01T02:05:00Z");
const failure = { code: "REFUSED", message: "success is 0", count: 3, retryAt };
const due = { user_group_id: "acme", tokenSince, failure: null };
const waiting = { user_group_id: "globex", tokenSince, failure };

test.each<[string, Partial<DueRotations>, string]>([
  [
    "a due rotation is a change, even if nothing else changes",
    { total: 1, count: 1, next: [due] },
    "↻ acme  a new token; the present one is from 2026-03-01T02:00:00.000Z\n\n" +
      "Plan: 0 to create, 0 to update, 0 to delete, 1 token to rotate, 9 unchanged.\n" +
      TABLES,
  ],
  [
    "later syncs rotate what is not rotated now",
    { total: 5, count: 1, next: [due] },
    ", 1 token to rotate, 9 unchanged, 4 tokens to rotate in later syncs.\n",
  ],
  [
    "tokens that are not listed are counted",
    { total: 30, count: 30, next: [due] },
    "\n  … and 29 more tokens\n",
  ],
  [
    "a failed rotation waits for its next try",
    { total: 1, waiting: [waiting] },
    "! globex  REFUSED: success is 0; next try after 2026-06-01T02:05:00.000Z\n\n" +
      "Plan: 0 to create, 0 to update, 0 to delete, 9 unchanged, 1 waiting for the next try.\n" +
      TABLES,
  ],
])("%s", async (_, rotations, text) => {
  expect(await textOf(aPlan(9), rotations)).toContain(text);
});

test("what needs attention comes last", async () => {
  const builder = aBuilder();
  builder.add(aRejectedTenant(), only(aRejectedTenant({ user_group_id: "bad" })));
  builder.add(undefined, only({ kind: "missing", user_group_id: "cus", absence: "absent", dueInMs: HOUR }));
  const text = await textOf(built(builder), { total: 3, count: 2, next: [due], waiting: [waiting] });
  expect(text.split("\n\n")[0]?.replaceAll(/^(\S* +\S+).*$/gm, "$1")).toBe(
    "= cus\n↻ acme\n  …\n! bad\n! globex",
  );
});

test("--json has the tokens to rotate now, the number of all due tokens, and the waiting rotations", async () => {
  const parts: string[] = [];
  const rotations = { ...NO_ROTATIONS, total: 3, count: 1, next: [due], waiting: [waiting] };
  await writePlanJson(aProspect(aPlan(9), rotations), EMPTY_LEDGER, (part) => parts.push(part));
  expect(JSON.parse(parts.join(""))).toMatchObject({
    waiting: [
      {
        user_group_id: "globex",
        code: "REFUSED",
        message: "success is 0",
        retry_at: "2026-06-01T02:05:00.000Z",
      },
    ],
    rotate: [{ user_group_id: "acme", token_since: "2026-03-01T02:00:00.000Z" }],
    rotations_due: 3,
    unchanged: 9,
  });
});
