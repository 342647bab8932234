import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../../src/core/group/tenant.ts";
import { NoticingStage } from "./a-noticing.ts";

const AWAY = new SyncError("SOURCE_UNAVAILABLE", "cannot listen on changed: gone");
const MINUTE = 60_000;

async function aListener(): Promise<NoticingStage> {
  const stage = new NoticingStage(["channel"]);
  await stage.noticing.start();
  return stage;
}

test("passes each id on", async () => {
  const stage = await aListener();
  for (const id of ["a", "Zürich 😀", "x".repeat(MAX_ID_BYTES)]) stage.channel.notify(id);
  expect(stage.noticed()).toEqual(["a", "Zürich 😀", "x".repeat(MAX_ID_BYTES)]);
});

test.each([
  ["an empty payload", ""],
  ["one that is longer than an id", "é".repeat(MAX_ID_BYTES / 2 + 1)],
])("takes %s for: look now", async (_, payload) => {
  const stage = await aListener();
  stage.channel.notify(payload);
  expect(stage.noticed()).toEqual(["anything"]);
});

test("is alive once it hears itself, and tries its line again and again", async () => {
  const stage = await aListener();
  expect(stage.noticing.state).toEqual({ channel: { since: stage.clock.now(), error: null } });
  await stage.pass(MINUTE);
  expect(stage.channel.probes).toBeGreaterThanOrEqual(3);
  expect(stage.channel.opened).toBe(1);
  expect(stage.noticed()).toEqual([]);
  expect(stage.log.map(({ message }) => message)).toEqual([
    "groupsync listens for changed tenants on source.changes.channel",
  ]);
});

test("comes back when its line is cut, looks then, and tells it once", async () => {
  const stage = await aListener();
  for (let n = 0; n < 100; n++) {
    stage.channel.cut();
    await stage.pass(1_000);
    expect(stage.noticed()).toEqual(["anything"]);
  }
  expect(stage.channel).toMatchObject({ opened: 101, openNow: 1 });
  expect(stage.noticing.state.channel).toMatchObject({ error: null });
});

test("comes back if its line has fallen silent", async () => {
  const stage = await aListener();
  stage.channel.isDeaf = true;
  await stage.pass(MINUTE);
  expect(stage.noticing.state.channel).toMatchObject({
    error: { code: "CHANGES_NOT_HEARD" },
  });
  stage.channel.isDeaf = false;
  await stage.pass(MINUTE);
  expect(stage.noticing.state.channel).toMatchObject({ error: null });
  expect(stage.noticed()).toEqual(["anything"]);
});

test("warns once of a pooler that passes nothing on, keeps trying, and lets a sync begin", async () => {
  const stage = new NoticingStage(["channel"]);
  stage.channel.isDeaf = true;
  await stage.noticing.start();
  await stage.pass(30 * MINUTE);
  expect(stage.log).toEqual([
    {
      level: "warn",
      code: "CHANGES_NOT_HEARD",
      message: expect.stringContaining("no notification arrives on source.changes.channel"),
      hint: expect.stringContaining("source.changes.url"),
    },
  ]);
  expect(stage.channel.opened).toBeGreaterThan(20);
  expect(stage.channel.openNow).toBe(0);
});

test("looks when it is heard for the first time after failed attempts", async () => {
  const stage = new NoticingStage(["channel"]);
  stage.channel.fails = AWAY;
  await stage.noticing.start();
  expect(stage.noticing.state.channel).toMatchObject({ error: { code: AWAY.code } });
  await stage.pass(10 * MINUTE);
  expect(stage.warnings()).toEqual(["SOURCE_UNAVAILABLE"]);
  stage.channel.fails = undefined;
  await stage.pass(MINUTE);
  expect(stage.noticed()).toEqual(["anything"]);
});
