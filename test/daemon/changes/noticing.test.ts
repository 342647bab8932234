import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { NoticingStage } from "./a-noticing.ts";

const MINUTE = 60_000;

test("has no notice before it starts, nor after it stops, and leaves no connection open", async () => {
  const stage = new NoticingStage();
  stage.feed.insert("early");
  await stage.pass(MINUTE);
  expect(stage.noticing.state).toEqual({ column: null, channel: null });
  await stage.noticing.start();
  expect(stage.noticing.state).toMatchObject({ column: { error: null }, channel: { error: null } });
  await stage.noticing.stop();
  stage.feed.insert("late");
  await stage.pass(MINUTE);
  expect(stage.noticed()).toEqual([]);
  expect([stage.feed.openNow, stage.channel.openNow]).toEqual([0, 0]);
  expect(stage.noticing.state).toEqual({ column: null, channel: null });
});

test("finds after a pause what has changed meanwhile", async () => {
  const stage = new NoticingStage();
  stage.feed.insert("old");
  await stage.noticing.start();
  await stage.pass(MINUTE);
  await stage.noticing.stop();
  stage.feed.insert("meanwhile");
  await stage.pass(10 * MINUTE);
  await stage.noticing.start();
  await stage.pass(1_000);
  expect(stage.noticed()).toEqual(["meanwhile"]);
});

test("looks after a pause by a full sync if there is only a channel", async () => {
  const stage = new NoticingStage(["channel"]);
  await stage.noticing.start();
  await stage.noticing.stop();
  await stage.noticing.start();
  expect(stage.noticed()).toEqual(["anything"]);
});

test("can be started twice and stopped twice", async () => {
  const stage = new NoticingStage();
  await stage.noticing.stop();
  await Promise.all([stage.noticing.start(), stage.noticing.start()]);
  expect([stage.feed.opened, stage.channel.opened]).toEqual([1, 1]);
  const stopping = stage.noticing.stop();
  await Promise.all([stopping, stage.noticing.stop(), stage.noticing.start()]);
  expect(stage.noticing.state).toMatchObject({ column: { error: null }, channel: { error: null } });
  expect([stage.feed.openNow, stage.channel.openNow]).toEqual([1, 1]);
});

test("starts although both ways fail, and lets a sync begin", async () => {
  const stage = new NoticingStage();
  stage.feed.fails = new SyncError("CONFIG_COLUMNS", "customers has no column changed");
  stage.channel.fails = new SyncError("SOURCE_UNAVAILABLE", "gone");
  await stage.noticing.start();
  expect(stage.noticing.state).toMatchObject({
    column: { error: { code: "CONFIG_COLUMNS" } },
    channel: { error: { code: "SOURCE_UNAVAILABLE" } },
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
  stage.feed.takes = 2 * MINUTE;
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
