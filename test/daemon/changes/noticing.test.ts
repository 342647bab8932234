import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../../src/core/group/tenant.ts";
import { NoticingStage } from "./a-noticing.ts";

const MINUTE = 60_000;

test("has no notice before it starts, nor after it stops, and leaves no connection open", async () => {
  const stage = new NoticingStage();
  stage.feed.insert("early");
  await stage.pass(MINUTE);
  expect(stage.noticing.state).toEqual({ column: null, channel: null });
  await stage.noticing.start();
  expect(stage.noticing.state).toMatchObject({ column: { failure: null }, channel: { failure: null } });
  await stage.noticing.stop();
  stage.feed.insert("late");
  await stage.pass(MINUTE);
  expect(stage.noticed()).toEqual([]);
  expect([stage.feed.openNow, stage.channel.openNow]).toEqual([0, 0]);
  expect(stage.noticing.state).toEqual({ column: null, channel: null });
});

test("leaves to the full sync that follows a start what has changed meanwhile, and notices what changes later", async () => {
  const stage = new NoticingStage();
  stage.feed.insert("old");
  await stage.noticing.start();
  await stage.pass(MINUTE);
  await stage.noticing.stop();
  stage.feed.insert("meanwhile");
  await stage.pass(10 * MINUTE);
  await stage.noticing.start();
  stage.feed.insert("later");
  stage.channel.notify("named");
  await stage.pass(1_000);
  expect(stage.noticed()).toEqual(["named", "later"]);
});

test("can be started twice and stopped twice", async () => {
  const stage = new NoticingStage();
  await stage.noticing.stop();
  await Promise.all([stage.noticing.start(), stage.noticing.start()]);
  expect([stage.feed.opened, stage.channel.opened]).toEqual([1, 1]);
  const stopping = stage.noticing.stop();
  await Promise.all([stopping, stage.noticing.stop(), stage.noticing.start()]);
  expect(stage.noticing.state).toMatchObject({ column: { failure: null }, channel: { failure: null } });
  expect([stage.feed.openNow, stage.channel.openNow]).toEqual([1, 1]);
});

test("starts although both feeds fail, and lets a sync begin", async () => {
  const stage = new NoticingStage();
  stage.feed.fails = new SyncError("CONFIG_COLUMNS", "customers has no column changed");
  stage.channel.fails = new SyncError("SOURCE_UNAVAILABLE", "gone");
  await stage.noticing.start();
  expect(stage.noticing.state).toMatchObject({
    column: { failure: { code: "CONFIG_COLUMNS" } },
    channel: { failure: { code: "SOURCE_UNAVAILABLE" } },
  });
  expect(stage.warnings().toSorted()).toEqual(["CONFIG_COLUMNS", "SOURCE_UNAVAILABLE"]);
});

test("looks by a full sync if the column can't be asked", async () => {
  const stage = new NoticingStage();
  stage.feed.fails = new SyncError("CONFIG_COLUMNS", "customers has no column changed");
  await stage.noticing.start();
  stage.channel.notify("");
  expect(stage.noticed()).toEqual(["anything"]);
  stage.feed.fails = new SyncError("SOURCE_UNAVAILABLE", "gone");
  await stage.pass(2 * MINUTE);
  stage.channel.notify("");
  expect(stage.noticed()).toEqual([]);
});

test("starts after a few seconds if the database doesn't answer, and lets a full sync look later", async () => {
  const stage = new NoticingStage();
  stage.feed.takes = MINUTE;
  const before = stage.clock.monotonic();
  await stage.noticing.start();
  expect(stage.clock.monotonic() - before).toBeLessThan(10_000);
  expect(stage.noticing.state.column).toBeNull();
  stage.feed.insert("behind the sync's snapshot");
  await stage.pass(3 * MINUTE);
  expect(stage.noticed()).toEqual(["anything"]);
});

test("stops although the database doesn't answer", async () => {
  const stage = new NoticingStage();
  stage.feed.takes = 10 * MINUTE;
  await stage.noticing.start();
  const before = stage.clock.monotonic();
  await stage.noticing.stop();
  expect(stage.clock.monotonic()).toBe(before);
  expect([stage.feed.openNow, stage.channel.openNow]).toEqual([0, 0]);
});

describe("the channel", () => {
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
    expect(stage.noticing.state).toEqual({ channel: { workedAt: stage.clock.now(), failure: null } });
    await stage.pass(MINUTE);
    expect(stage.channel.probes).toBeGreaterThanOrEqual(3);
    expect(stage.channel.opened).toBe(1);
    expect(stage.noticed()).toEqual([]);
    expect(stage.log.map(({ message }) => message)).toEqual([
      "groupsync notices changed tenants by source.changes.channel",
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
    expect(stage.noticing.state.channel).toMatchObject({ failure: null });
  });

  test("comes back if its line has fallen silent", async () => {
    const stage = await aListener();
    stage.channel.isDeaf = true;
    await stage.pass(MINUTE);
    expect(stage.noticing.state.channel).toMatchObject({
      failure: { code: "CHANGES_NOT_HEARD" },
      workedAt: expect.any(Date),
    });
    stage.channel.isDeaf = false;
    await stage.pass(MINUTE);
    expect(stage.noticing.state.channel).toMatchObject({ failure: null });
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
});
