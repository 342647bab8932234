import { expect, inject, test } from "vitest";
import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { someOf } from "../../support/long.ts";
import { acceptTokens, OWN_TOKENS, refusalsOf, refuseTokens, tablesIn } from "../database/database-acts.ts";
import type { Program } from "../program.ts";
import { asRole } from "../role.ts";
import { aWorld, until, type World } from "../world.ts";

const places = [
  { where: "its own rows", config: {}, column: OWN_TOKENS },
  {
    where: "the tenants' rows",
    config: {
      tokens: { table: "customers", rows: "existing", id_column: "id", token_column: "dashboard_token" },
    },
    column: { table: "customers", id: "id", token: "dashboard_token" },
  },
];
// Leave `restores` out: a trigger that puts the old token back lets the old token pass.
const refusals = refusalsOf(inject("databaseKind")).filter((refusal) => refusal !== "restores");

test.each(places.flatMap((place) => refusals.map((refusal) => ({ ...place, refusal }))))(
  "rotates nothing if a trigger on $where $refusal",
  async ({ config, column, refusal }) => {
    const world = await aWorld({ tenants: 8, config });
    await world.sync();
    await world.forgetRequests();
    await refuseTokens(world.database, column, refusal);

    const { code, report } = await world.rotate("--all", "--yes");
    expect({ code, report }).toMatchObject({
      code: 3,
      report: { outcome: "partial", rotated: 0, failed: 8, requests: 0 },
    });
    expect(report.errors).toContainEqual({
      user_group_id: "t-00001",
      code: "TOKEN_NOT_STORED",
      message: expect.stringMatching(/refused the token|did not take the token/),
    });
    expect(await world.requests()).toMatchObject({ total: 0 });
    expect(await world.status()).toMatchObject({ groups: { under_way: 0, failing: 8 } });
  },
);

test("rotates nothing without the right to change a token", async () => {
  const world = await aWorld({ tenants: 8 });
  const role = await asARoleThatSyncs(world);
  await world.database.query(`REVOKE UPDATE ON groupsync_tokens FROM ${role}`);
  const { code, stdout } = await world.run("rotate", "--all", "--yes");
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining("may not write tokens to groupsync_tokens"),
  });
  expect(await world.requests()).toMatchObject({ total: 0 });
});

interface Fault {
  readonly how: string;
  begin(database: FreshDatabase): Promise<unknown>;
  end(database: FreshDatabase): Promise<unknown>;
}

const FAULTS: readonly Fault[] = [
  {
    how: "a trigger that takes the live token, and no new one",
    begin: (database) => refuseTokens(database, OWN_TOKENS, "raises", "any"),
    end: (database) => acceptTokens(database, OWN_TOKENS),
  },
  {
    how: "a trigger that puts the old token back",
    begin: (database) => refuseTokens(database, OWN_TOKENS, "restores"),
    end: (database) => acceptTokens(database, OWN_TOKENS),
  },
];

test.each(someOf([4, 1]).flatMap((concurrency) => FAULTS.map((fault) => ({ ...fault, concurrency }))))(
  "during a refusal by $how, at most $concurrency tokens are unstored, until the store accepts them",
  async ({ begin, end, concurrency }) => {
    const { world, program } = await rotationUnderWay(concurrency);
    await begin(world.database);
    await until(() => mostTries(program) >= 2);
    const { total } = await world.requests();
    const waiting = await unstored(world);
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.length).toBeLessThanOrEqual(concurrency);
    expect([...tries(program).keys()].sort()).toEqual(waiting);

    await until(() => mostTries(program) >= 3);
    expect(await world.requests()).toMatchObject({ total });
    expect(await unstored(world)).toEqual(waiting);

    await end(world.database);
    const { code, stdout } = await program.ended;
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      report: { outcome: "ok", rotated: TENANTS, failed: 0, requests: TENANTS },
    });
    await expectAllOnceAndStored(world, TENANTS);
  },
);

test("a token that is not stored yet when the run is told to stop is not lost", async () => {
  const { world, program } = await rotationUnderWay(4);
  await refuseTokens(world.database, OWN_TOKENS, "raises", "any");
  await until(() => mostTries(program) >= 1);
  program.child.kill("SIGTERM");
  await until(() => mostTries(program) >= 3);
  const { total } = await world.requests();
  expect(await unstored(world)).not.toEqual([]);

  await acceptTokens(world.database, OWN_TOKENS);
  const { code, stdout } = await program.ended;
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 1,
    report: { outcome: "failed", rotated: total, failed: 0, errors: [{ code: "INTERRUPTED" }] },
  });
  await expectAllOnceAndStored(world, total);
  const groups = { in_sync: total, wanted: TENANTS - total, under_way: 0 };
  expect(await world.status()).toMatchObject({ groups, lease: null });
});

const TENANTS = 60;

/** `rotate --all` in the middle of its work; the program's role is the second owner of the token table. */
async function rotationUnderWay(concurrency: number) {
  const world = await aWorld({
    tenants: TENANTS,
    service: { latency: { min: 5, max: 10 } },
    config: { rotation: { concurrency } },
  });
  const role = await asARoleThatSyncs(world);
  const program = world.start("--log-level", "debug", "rotate", "--all", "--yes", "--json");
  await until(async () => (await world.requests()).total >= 10);
  return { world, role, program };
}

async function asARoleThatSyncs(world: World): Promise<string> {
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  const role = await asRole(world);
  for (const table of await tablesIn(world.database)) {
    await world.database.query(
      world.database.kind === "postgres"
        ? `ALTER TABLE ${table} OWNER TO ${role}`
        : `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`,
    );
  }
  return role;
}

/** How often the log says of each group that its new token is not stored. */
function tries(program: Program): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of program.output().split("\n")) {
    if (!line.includes("its new token is not stored")) continue;
    const { user_group_id: id, level } = JSON.parse(line);
    // A tenant is told of once; its further tries are details.
    const before = counts.get(id) ?? 0;
    expect(level).toBe(before === 0 ? "error" : "debug");
    counts.set(id, before + 1);
  }
  return counts;
}

const mostTries = (program: Program): number => Math.max(0, ...tries(program).values());

async function unstored(world: World): Promise<string[]> {
  const [live, stored] = [await world.live(), await world.stored()];
  return Object.keys(live).filter((id) => live[id] !== stored[id]);
}

async function expectAllOnceAndStored(world: World, rotated: number): Promise<void> {
  const { by_group, by_operation } = await world.requests();
  expect(Object.values(by_group)).toEqual(Array(rotated).fill({ GET: 0, POST: 1, DELETE: 0 }));
  expect(by_operation).toMatchObject({ POST: { 200: rotated } });
  expect(await world.stored()).toEqual(await world.live());
}
