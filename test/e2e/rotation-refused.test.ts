import { expect, test } from "vitest";
import type { Program } from "./program.ts";
import { asRole } from "./role.ts";
import { aWorld, until, type World } from "./world.ts";

const refusing = (table: string, body: string): string =>
  `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
   CREATE TRIGGER refuse BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`;
const RAISES = "RAISE EXCEPTION 'no % today', NEW;";

const existingRows = {
  tokens: { table: "customers", rows: "existing", id_column: "id", token_column: "dashboard_token" },
};

test.each([
  { how: "raises", config: {}, refuse: refusing("groupsync_tokens", RAISES) },
  { how: "skips", config: {}, refuse: refusing("groupsync_tokens", "RETURN NULL;") },
  { how: "raises on the tenants' own rows", config: existingRows, refuse: refusing("customers", RAISES) },
  {
    how: "skips the tenants' own rows",
    config: existingRows,
    refuse: refusing("customers", "RETURN NULL;"),
  },
])("no token is made where a trigger $how", async ({ config, refuse }) => {
  const world = await aWorld({ tenants: 8, config });
  await world.sync();
  await world.forgetRequests();
  await world.database.query(refuse);

  const { code, report } = await world.rotate("--all");
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
});

test("no token is made where the right to change one is missing", async () => {
  const world = await aWorld({ tenants: 8 });
  const role = await asARoleThatSyncs(world);
  await world.database.query(`REVOKE UPDATE ON groupsync_tokens FROM ${role}`);
  const { code, stdout } = await world.run("rotate", "--all");
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining("may not write tokens to groupsync_tokens"),
  });
  expect(await world.requests()).toMatchObject({ total: 0 });
});

interface Refusal {
  readonly how: string;
  refuse(role: string): string;
  accept(role: string): string;
}

const REFUSALS: readonly Refusal[] = [
  {
    how: "a trigger",
    refuse: () => refusing("groupsync_tokens", RAISES),
    accept: () => "DROP TRIGGER refuse ON groupsync_tokens",
  },
  {
    how: "a trigger that puts the old token back",
    refuse: () => refusing("groupsync_tokens", "NEW.token := OLD.token; RETURN NEW;"),
    accept: () => "DROP TRIGGER refuse ON groupsync_tokens",
  },
  {
    how: "a right that is revoked",
    refuse: (role) => `REVOKE UPDATE ON groupsync_tokens FROM ${role}`,
    accept: (role) => `GRANT UPDATE ON groupsync_tokens TO ${role}`,
  },
];

test.each(REFUSALS.flatMap((refusal) => [1, 4].map((concurrency) => ({ ...refusal, concurrency }))))(
  "the store refuses in the middle by $how: at most $concurrency unstored, until it accepts",
  async ({ refuse, accept, concurrency }) => {
    const { world, role, program } = await rotationUnderWay(concurrency);
    await world.database.query(refuse(role));
    await until(() => mostTries(program) >= 2);
    const { total } = await world.requests();
    const waiting = await unstored(world);
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.length).toBeLessThanOrEqual(concurrency);
    expect([...tries(program).keys()].sort()).toEqual(waiting);

    await until(() => mostTries(program) >= 3);
    expect(await world.requests()).toMatchObject({ total });
    expect(await unstored(world)).toEqual(waiting);

    await world.database.query(accept(role));
    const { code, stdout } = await program.ended;
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      report: { outcome: "ok", rotated: TENANTS, failed: 0, requests: TENANTS },
    });
    await expectAllOnceAndStored(world, TENANTS);
  },
);

test("a token that is not stored yet outlives the order to stop", async () => {
  const { world, program } = await rotationUnderWay(4);
  await world.database.query(refusing("groupsync_tokens", RAISES));
  await until(() => mostTries(program) >= 1);
  program.child.kill("SIGTERM");
  await until(() => mostTries(program) >= 3);
  const { total } = await world.requests();
  expect(await unstored(world)).not.toEqual([]);

  await world.database.query("DROP TRIGGER refuse ON groupsync_tokens");
  const { code, stdout } = await program.ended;
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 1,
    report: { outcome: "failed", rotated: total, failed: 0, errors: [{ code: "INTERRUPTED" }] },
  });
  await expectAllOnceAndStored(world, total);
  expect(await world.status()).toMatchObject({ groups: { in_sync: TENANTS, under_way: 0 }, lease: null });
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
  const program = world.start("rotate", "--all", "--json");
  await until(async () => (await world.requests()).total >= 10);
  return { world, role, program };
}

async function asARoleThatSyncs(world: World): Promise<string> {
  expect((await world.sync()).code).toBe(0);
  await world.forgetRequests();
  const role = await asRole(world);
  await world.database.query(
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
  );
  return role;
}

/** How often the log says of each that its new token is not stored. */
function tries(program: Program): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of program.output().split("\n")) {
    if (!line.includes("its new token is not stored")) continue;
    const { user_group_id: id, level } = JSON.parse(line);
    expect(level).toBe("error");
    counts.set(id, (counts.get(id) ?? 0) + 1);
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
