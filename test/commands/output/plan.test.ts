import { expect, it } from "vitest";
import { writePlanJson, writePlanText } from "../../../src/commands/output/plan.ts";
import { ABSENCE_TEXT } from "../../../src/core/deletion/missing-tenants.ts";
import { RemovalSummaryBuilder } from "../../../src/core/deletion/removals.ts";
import type { Missing } from "../../../src/core/plan/planned-action.ts";
import type { DueRotations, SyncForecast } from "../../../src/engine/check/sync-forecast.ts";
import { type Plan, PlanBuilder } from "../../../src/engine/plan/plan.ts";
import { aReading, aRejectedTenant, aReplace, aTenantNotReady } from "../../builders/groups.ts";
import { type InMemoryLedger, inMemoryLedger } from "../../fakes/ledger/ledger.ts";
import { LedgerState } from "../../fakes/ledger/ledger-state.ts";
import { openSpool } from "../../fakes/spool.ts";

const HOUR = 3_600_000;

/** What the text ends with. */
const TABLES =
  "Tables: tenants from public.customers, tokens in public.groupsync_tokens of groupsync, ledger in public.groupsync_*.\n";

const NO_ROTATIONS: DueRotations = { total: 0, count: 0, next: [], waiting: [], isTime: true };

const aProspect = (plan: Plan, rotations: DueRotations): SyncForecast => ({
  plan,
  tables: {
    source: "public.customers",
    tokens: ["public.groupsync_tokens of groupsync"],
    ledger: "public.groupsync_*",
  },
  rotations,
  refresh: null,
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
  builder.addUnread({ unchanged, notReady: isWhole ? notReady : 0 });
  if (notReady > 0) builder.add(undefined, aTenantNotReady(), null);
  if (missing) builder.add(undefined, { kind: "missing", user_group_id: "acme", ...missing }, null);
  return built(builder, isWhole);
}

const aBuilder = (): PlanBuilder =>
  new PlanBuilder(openSpool(), new RemovalSummaryBuilder({ name: "default", baseUrl: null, approvals: 0 }));

const built = (builder: PlanBuilder, isWhole = true): Plan =>
  builder.build(
    { reading: aReading(), isWhole, sourceTable: null, warnings: [], unknown: new Set() },
    { recent: 0, limit: { count: 3, percent: 10 } },
  );

const emptyLedger = (asked: string[] = []): InMemoryLedger =>
  inMemoryLedger(
    new LedgerState(),
    async ({ call }) => void asked.push(call),
    () => new Date(0),
  );

it("counts rows that aren't ready, and names them if it is about some tenants alone", async () => {
  expect(await textOf(aPlan(2, undefined, { notReady: 3 }))).toMatch(/^Plan: .*2 unchanged, 4 not ready\.$/m);
  expect(await textOf(aPlan(2, undefined, { notReady: 3 }))).not.toContain("acme");
  expect(await textOf(aPlan(0, undefined, { notReady: 1, isWhole: false }))).toContain(
    "= acme  not ready: source.ready_when is not true of its row\n",
  );
});

it("says what a replacement does to the token", async () => {
  const builder = aBuilder();
  builder.add(undefined, aReplace({ user_group_id: "acme" }), null);
  expect(await textOf(built(builder))).toContain("± acme  deleted and made anew, with a new token\n");
});

async function textOf(plan: Plan, rotations: Partial<DueRotations> = {}): Promise<string> {
  const parts: string[] = [];
  const due = { ...NO_ROTATIONS, ...rotations };
  await writePlanText(aProspect(plan, due), emptyLedger(), (part) => parts.push(part), false);
  return parts.join("");
}

it.each<[string, Omit<Missing, "kind" | "user_group_id">, string]>([
  [
    "is deleted in the end",
    { absence: "absent", dueInMs: HOUR },
    "deleted after another 1 h 0 min of absence",
  ],
  ["is kept", { absence: "absent", dueInMs: null }, "kept"],
  [
    "is held first",
    { absence: "estranged", dueInMs: HOUR },
    "held for approval after another 1 h 0 min of absence",
  ],
])("a group whose tenant is gone %s", async (_, missing, end) => {
  const [line] = (await textOf(aPlan(1, missing))).split("\n");
  expect(line).toBe(`= acme  ${ABSENCE_TEXT[missing.absence]}; ${end}`);
});

it("a group that counts as held, because no row is valid, doesn't count as missing as well", async () => {
  const text = await textOf(aPlan(0, { absence: "absent", dueInMs: HOUR }));
  expect(text).toContain("\nPlan: 0 to create, 0 to update, 0 to delete, 0 unchanged, 1 held.\n");
});

const tokenSince = new Date("2026-03-01T02:00:00Z");
const retryAt = new Date("2026-06-01T02:05:00Z");
const failure = { code: "REFUSED", message: "success is 0", count: 3, retryAt };
const due = { user_group_id: "acme", tokenSince, failure: null };
const waiting = { user_group_id: "globex", tokenSince, failure };

it("a due rotation is a change, even if nothing else changes", async () => {
  expect(await textOf(aPlan(9), { total: 1, count: 1, next: [due] })).toBe(
    "↻ acme  a new token; the present one is from 2026-03-01T02:00:00.000Z\n\n" +
      "Plan: 0 to create, 0 to update, 0 to delete, 1 token to rotate, 9 unchanged.\n" +
      TABLES,
  );
});

it.each<[string, Partial<DueRotations>, string]>([
  [
    "if it is outside of rotation.window now",
    { total: 5, isTime: false },
    "9 unchanged, 5 tokens to rotate in rotation.window.",
  ],
  [
    "if there are more than rotation.max_per_run",
    { total: 5, count: 1, next: [due] },
    "1 token to rotate, 9 unchanged, 4 tokens to rotate in later syncs.",
  ],
])("says when the other tokens are rotated %s", async (_, rotations, summary) => {
  expect(await textOf(aPlan(9), rotations)).toContain(`, ${summary}\n`);
});

it("says that there are more tokens than it lists", async () => {
  const text = await textOf(aPlan(9_000), { total: 3_000, count: 3_000, next: [due] });
  expect(text).toContain("\n  … and 2999 more tokens\n");
});

it("a failed rotation is shown as waiting for its next try", async () => {
  expect(await textOf(aPlan(9), { total: 1, waiting: [waiting] })).toBe(
    "! globex  REFUSED: success is 0; next try after 2026-06-01T02:05:00.000Z\n\n" +
      "Plan: 0 to create, 0 to update, 0 to delete, 9 unchanged, 1 waiting for the next try.\n" +
      TABLES,
  );
});

it("what needs attention comes last", async () => {
  const builder = aBuilder();
  builder.add(aRejectedTenant({ user_group_id: "bad" }), aRejectedTenant({ user_group_id: "bad" }), null);
  builder.add(undefined, { kind: "missing", user_group_id: "cus", absence: "absent", dueInMs: HOUR }, null);
  const text = await textOf(built(builder), { total: 3, count: 2, next: [due], waiting: [waiting] });
  expect(text.split("\n\n")[0]?.replaceAll(/^(\S* +\S+).*$/gm, "$1")).toBe(
    "= cus\n↻ acme\n  …\n! bad\n! globex",
  );
});

it("--json has the tokens to rotate now, the number of all due tokens, and the waiting rotations", async () => {
  const parts: string[] = [];
  const rotations = { total: 3, count: 1, next: [due], waiting: [waiting], isTime: true };
  await writePlanJson(aProspect(aPlan(9), rotations), emptyLedger(), (part) => parts.push(part));
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

it("asks the ledger for no old values if no group is updated", async () => {
  const asked: string[] = [];
  const plan = aPlan(1, { absence: "absent", dueInMs: HOUR });
  await writePlanJson(aProspect(plan, NO_ROTATIONS), emptyLedger(asked), () => {});
  await writePlanText(aProspect(plan, NO_ROTATIONS), emptyLedger(asked), () => {}, false);
  expect(asked).not.toContain("confirmed");
});
