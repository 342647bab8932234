import { expect, test } from "vitest";
import { passDays } from "../daemon/pass-time.ts";
import { aSyncedWorld } from "../world.ts";

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
