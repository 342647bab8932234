import { expect, inject, test } from "vitest";
import { OWN_TOKENS, refusalsOf, refuseTokens, tablesIn } from "../database/database-acts.ts";
import { asRole } from "../role.ts";
import { aWorld, type World } from "../world.ts";

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
