import { expect, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { tablesIn } from "../database/database-acts.ts";
import { dump } from "../dump.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, type World } from "../world.ts";

const KINDS: readonly Required<Pick<SandboxOptions, "deleteBy" | "errors" | "existing">>[] = (
  ["token", "id", "both"] as const
).flatMap((deleteBy) =>
  (["status", "body"] as const).flatMap((errors) =>
    (["keep", "update"] as const).map((existing) => ({ deleteBy, errors, existing })),
  ),
);

/** What `probe --json` prints. */
async function probe(world: World, ...args: string[]) {
  const { code, stdout, stderr } = await world.run("probe", "--yes", "--json", ...args);
  return { code, stderr, report: stdout === "" ? {} : JSON.parse(stdout) };
}

const canaries = async (world: World): Promise<readonly unknown[]> =>
  world.database.query("SELECT * FROM groupsync_canaries");

test.each(KINDS)(
  "finds out how a sandbox behaves: delete-by $deleteBy, errors $errors, existing $existing",
  async (kind) => {
    const world = await aWorld({ tenants: 3, service: kind });
    await world.sync();
    await world.forgetRequests();
    const { code, report } = await probe(world);
    const updates = kind.existing === "update";
    const withId = ["current_token", "user_group_id"];
    expect({ code, report }).toMatchObject({
      code: 0,
      report: {
        outcome: "ok",
        canary: { gone: true },
        findings: {
          new_user_group: "true for a new group alone",
          repeated_get: "the same",
          update: updates ? "updates" : "keeps",
          rotation: "a new token",
          old_token: "refused",
          get_after_rotation: "the new token",
          limit_headers: {},
          throttled: 0,
          latency_ms: { GET: { answers: expect.any(Number) }, POST: { answers: 2 }, DELETE: {} },
        },
        recorded: { updates },
        errors: [],
      },
    });
    const { findings, canary, requests } = report;
    const tried = findings.deletes.map(({ fields, result }: { fields: string[]; result: string }) => [
      fields,
      result,
    ]);
    expect(tried).toEqual(
      kind.deleteBy === "token"
        ? [[["current_token"], "deleted"]]
        : [
            [["current_token"], "refused"],
            [withId, "deleted"],
          ],
    );
    const advised: string[] = report.advice.map(({ hint }: { hint: string | null }) => hint ?? "");
    expect(advised.some((hint) => hint.includes("service.update: replace"))).toBe(!updates);

    const { total, by_group } = await world.requests();
    expect(requests).toBe(total);
    expect(Object.keys(by_group)).toEqual([canary.user_group_id]);
    expect(await canaries(world)).toEqual([]);
    await expectInSync(world);
    const { groups, runs, failing } = await world.status();
    expect(groups).toMatchObject({ total: 3, in_sync: 3 });
    expect(runs[0]).toMatchObject({ command: "probe", outcome: "ok" });
    expect(failing).toEqual([]);
    expect(await world.sync()).toMatchObject({ code: 0, report: { requests: 0, unchanged: 3 } });
  },
);

test("what it finds counts from then on: a change of the mapping alone is verified or refused", async () => {
  for (const existing of ["update", "keep"] as const) {
    const world = await aWorld({ tenants: 1, service: { existing } });
    expect((await probe(world)).code).toBe(0);
    await world.sync();
    await world.database.query("UPDATE customers SET warehouse = 'another'");
    const warns = async () => (await world.run("plan")).stdout.includes("1 update planned, but");
    expect(await warns()).toBe(existing === "keep");
    const { code, report } = await world.sync();
    expect({ code, ...report }).toMatchObject(
      existing === "update"
        ? { code: 0, updated: 1, unverified: 0 }
        : { code: 3, failed: 1, errors: [{ code: "NOT_UPDATED" }] },
    );
    // Also of an update that has failed before.
    expect(await warns()).toBe(existing === "keep");
  }
});

test("the table for people has every answer, and names what to change in the config", async () => {
  const world = await aWorld({ tenants: 1, service: { deleteBy: "both", errors: "status" } });
  const { code, stdout } = await world.run("probe", "--yes");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^a GET with another name {2,}returns the group unchanged$/m);
  expect(stdout).toMatch(/^a POST with the old token {2,}is refused: POST was answered HTTP 404: .+$/m);
  expect(stdout).toMatch(/^a DELETE with current_token {2,}is refused: DELETE was answered HTTP 400: .+$/m);
  expect(stdout).toMatch(/^a DELETE with current_token, user_group_id {2,}deletes the group$/m);
  expect(stdout).toMatch(/^headers that tell of a limit {2,}none$/m);
  expect(stdout).toMatch(
    /^! service\.update: upsert can't change an existing group.*\n {2}set service\.update: replace/m,
  );
  expect(stdout).toContain("Recorded in the ledger: a GET doesn't change an existing group");
  expect(stdout).toContain("All found out, and the canary is deleted");
});

test.each<[string, SandboxOptions]>([
  ["slow answers", { latency: { min: 5, max: 30 } }],
  ["a rate limit", { rateLimit: { count: 4, perMs: 1_500 } }],
  ["a token bucket", { tokenBucket: { rate: { count: 5, perMs: 1_000 }, burst: 2 } }],
  ["lost answers", { shares: { "cut-after": 0.2, "cut-before": 0.1, fail: 0.1, html: 0 }, seed: 5 }],
  ["more fields in the answers", { extraFields: true }],
])("the table is right despite %s", async (what, service) => {
  const world = await aWorld({ tenants: 2, service });
  await world.sync();
  const { code, report } = await probe(world);
  expect({ what, code, report }).toMatchObject({
    code: 0,
    report: {
      findings: {
        repeated_get: "the same",
        update: "keeps",
        rotation: "a new token",
        old_token: "refused",
        deletes: [
          { fields: ["current_token"], result: "refused" },
          { fields: ["current_token", "user_group_id"], result: "deleted" },
        ],
        throttled: what.startsWith("a ") ? expect.any(Number) : 0,
      },
    },
  });
  if (what === "a rate limit") expect(report.findings.limit_headers["retry-after"]).toMatch(/^\d+$/);
  expect(await canaries(world)).toEqual([]);
  await expectInSync(world);
});

test("a key that is refused, and a page in place of the service, end it once a request that names no group is refused too", async () => {
  const world = await aWorld({ tenants: 1 });
  await world.sync();
  await world.forgetRequests();
  world.env.GROUPSYNC_API_KEY = "wrong";
  expect(await probe(world)).toMatchObject({
    code: 1,
    report: { outcome: "failed", canary: { gone: true }, findings: null, errors: [{ code: "KEY_REFUSED" }] },
  });
  expect((await world.requests()).total).toBe(2);
  world.env.GROUPSYNC_API_KEY = world.sandbox.apiKey;
  expect(await canaries(world)).toEqual([]);

  await world.serve({ shares: { fail: 0, "cut-before": 0, "cut-after": 0, html: 1 } });
  expect(await probe(world)).toMatchObject({
    code: 1,
    report: { errors: [{ code: "INTERMEDIARY_REFUSED" }] },
  });
  expect((await world.requests()).total).toBe(2);
  await world.serve({});
  await world.sync();
  expect(await canaries(world)).toEqual([]);
  await expectInSync(world);
});

test("without a terminal it doesn't begin unless --yes says so", async () => {
  const world = await aWorld({ tenants: 1 });
  const { code, stdout, stderr } = await world.run("probe");
  expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
  expect(stderr).toContain("say --yes");
  expect((await world.requests()).total).toBe(0);
});

test("a canary that was deleted by hand is forgotten by its id", async () => {
  const world = await aWorld({ tenants: 1 });
  await world.sync();
  const id = "groupsync-canary-0123";
  await world.database.query(
    `INSERT INTO groupsync_canaries (scope, user_group_id, base_url, begun_at)
     VALUES ('default', '${id}', 'https://elsewhere.example.com', '2026-01-01 00:00:00')`,
  );
  expect(await probe(world)).toMatchObject({
    code: 3,
    report: { outcome: "canary_remains", canary: null, errors: [{ code: "CANARY_REMAINS" }] },
  });
  expect((await world.run("probe", "--forget", "another")).code).toBe(64);
  expect(await world.run("probe", "--forget", id)).toMatchObject({ code: 0 });
  expect(await canaries(world)).toEqual([]);
});

test("before the first sync it makes no token table, and that sync has nothing to do with it", async () => {
  const world = await aWorld({ tenants: 2 });
  const { report } = await probe(world);
  expect(await tablesIn(world.database)).not.toContain("groupsync_tokens");
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2, adopted: 0 } });
  const tokens = await world.tokensEver();
  expect(tokens.length).toBeGreaterThan(2);
  const dumped = JSON.stringify(await dump(world.database));
  expect(dumped).not.toContain(report.canary.user_group_id);
  const live = Object.values(await world.live());
  expect(tokens.filter((token) => !live.includes(token) && dumped.includes(token))).toEqual([]);
});
