import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { passDays } from "../daemon/pass-time.ts";
import { aSyncedWorld, until } from "../world.ts";

const ID = "t-00002";

test("rotate gives new tokens to named groups, to groups with old tokens, or to all groups", async () => {
  const world = await aSyncedWorld();
  const first = await world.live();
  expect(await world.rotate("--only", ID, "--only", "t-00004")).toMatchObject({
    code: 0,
    report: { outcome: "ok", rotated: 2, requests: 2 },
  });
  const second = await world.live();
  expect(Object.keys(first).filter((id) => first[id] !== second[id])).toEqual([ID, "t-00004"]);
  expect(await world.stored()).toEqual(second);

  await passDays(world, "t-00001", 91);
  expect(await world.run("rotate", "--older-than", "90d", "--yes")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Rotated\n {2}1 rotated; 1 request in /),
  });
  expect(await world.run("rotate", "--older-than", "90d", "--yes")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Nothing to rotate\n {2}0 requests in /),
  });

  expect(await world.rotate("--all", "--yes")).toMatchObject({
    code: 0,
    report: { rotated: 5, requests: 5 },
  });
  const last = await world.live();
  expect(Object.keys(last).filter((id) => last[id] === second[id])).toEqual([]);
  expect(await world.stored()).toEqual(last);
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 5, requests: 0 } });
});

// Only PostgreSQL has channels to listen to.
if (inject("databaseKind") === "postgres") {
  test("an application that listens is notified of each new token once the token can be read", async () => {
    const world = await aSyncedWorld({ config: { tokens: { notify: "new_tokens" } } });
    const before = await world.live();
    const application = new pg.Client(world.database.url);
    await application.connect();
    onTestFinished(() => application.end());
    const told: string[] = [];
    const read: Promise<readonly [id: string, token: string]>[] = [];
    application.on("notification", ({ payload: id = "" }) => {
      told.push(id);
      read.push(
        application
          .query("SELECT token FROM groupsync_tokens WHERE user_group_id = $1", [id])
          .then(({ rows }) => [id, rows[0].token] as const),
      );
    });
    await application.query("LISTEN new_tokens");

    const rotated = await world.rotate("--log-level", "trace", "--only", ID, "--only", "t-00005");
    expect(rotated.code).toBe(0);
    await until(() => told.length >= 2);
    const after = await world.live();
    expect(await Promise.all(read)).toEqual([ID, "t-00005"].map((id) => [id, after[id]]));
    expect(before[ID]).not.toBe(after[ID]);
    // Unchanged tokens cause no notification.
    expect((await world.sync()).code).toBe(0);
    await application.query("SELECT 1");
    expect(told).toEqual([ID, "t-00005"]);
  });
}
