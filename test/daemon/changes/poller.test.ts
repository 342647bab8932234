import { describe, expect, test } from "vitest";
import { MOST_ROWS } from "../../../src/core/changes/change-window.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { NoticingStage } from "./a-noticing.ts";

const AWAY = new SyncError("SOURCE_UNAVAILABLE", "cannot read customers: gone", { hint: "is it running?" });
const MINUTE = 60_000;

/** A poller without an index on its column. */
async function aSlowPoller(feeds?: ConstructorParameters<typeof NoticingStage>[0]): Promise<NoticingStage> {
  const stage = new NoticingStage(feeds);
  stage.feed.insert("old");
  stage.feed.missing = "CREATE INDEX …";
  stage.feed.takes = 250;
  await stage.noticing.start();
  return stage;
}

async function aPoller(everyMs?: number): Promise<NoticingStage> {
  const stage = new NoticingStage(["column"], everyMs);
  stage.feed.insert("old");
  await stage.noticing.start();
  return stage;
}

test("notices new rows within the period, and each of them once", async () => {
  const stage = await aPoller();
  await stage.pass(1_200);
  stage.feed.insert("a", "b");
  await stage.pass(1_000);
  expect(stage.noticed()).toEqual(["a", "b"]);
  await stage.pass(3 * MINUTE);
  expect(stage.noticed()).toEqual([]);
});

test("asks as often as the config says, over one connection", async () => {
  const stage = await aPoller(250);
  await stage.pass(10_000);
  expect(stage.feed.polls).toBeGreaterThanOrEqual(40);
  expect(stage.feed.polls).toBeLessThanOrEqual(42);
  expect(stage.feed.opened).toBe(1);
});

test("asks for the newest value alone while nothing changes", async () => {
  const stage = await aPoller();
  await stage.pass(3 * MINUTE);
  stage.feed.looks.splice(0);
  await stage.pass(MINUTE);
  expect(stage.feed.looks.length).toBeGreaterThanOrEqual(59);
  expect(new Set(stage.feed.looks)).toEqual(new Set(["newest"]));
  stage.feed.insert("a");
  await stage.pass(1_000);
  expect(stage.noticed()).toEqual(["a"]);
});

test("tells once that the database is away, asks less and less often, and finds afterwards what has changed", async () => {
  const stage = await aPoller();
  await stage.pass(5_000);
  stage.log.splice(0);
  stage.feed.fails = AWAY;
  stage.feed.insert("missed");
  await stage.pass(10 * MINUTE);
  const { code, hint, message } = AWAY;
  expect(stage.log).toEqual([
    {
      level: "warn",
      code,
      hint,
      message: `${message}; until that is repaired, the next full sync finds what changes`,
    },
  ]);
  expect(stage.noticing.state.column).toMatchObject({ failure: { code, message, hint } });
  expect(stage.feed.openNow).toBe(0);

  stage.feed.fails = undefined;
  await stage.pass(MINUTE);
  expect(stage.noticed()).toEqual(["missed"]);
  expect(stage.noticing.state.column).toMatchObject({ failure: null });
  expect(stage.log.at(-1)).toMatchObject({ level: "info", message: expect.stringContaining("again") });
});

test("turns a flood into one notice, and one more after the overlap", async () => {
  const stage = await aPoller();
  stage.feed.insert(...Array.from({ length: MOST_ROWS + 1 }, (_, n) => `f${n}`));
  await stage.pass(2_000);
  expect(stage.noticed()).toEqual(["anything"]);
  stage.feed.insert("single");
  await stage.pass(2_000);
  expect(stage.noticed()).toEqual(["single"]);
  await stage.pass(3 * MINUTE);
  expect(stage.noticed()).toEqual(["anything"]);
});

test("takes at most a tenth of the time if there is no index, and says once which one helps", async () => {
  const stage = await aSlowPoller(["column"]);
  const before = stage.feed.polls;
  await stage.pass(50_000);
  expect(stage.feed.polls - before).toBeLessThanOrEqual(11);
  expect(stage.feed.polls - before).toBeGreaterThanOrEqual(8);
  expect(stage.log.filter(({ level }) => level === "warn")).toMatchObject([
    { code: "CHANGES_NOT_INDEXED", hint: "CREATE INDEX …" },
  ]);
});

test("begins anew, and lets a full sync look, if somebody alters the column", async () => {
  const stage = await aPoller();
  stage.feed.type = "int8";
  stage.feed.fails = AWAY;
  await stage.pass(2_000);
  stage.feed.fails = undefined;
  await stage.pass(MINUTE);
  expect(stage.noticed()).toEqual(["anything"]);
});

test("doesn't ask more often for a notification than a missing index allows", async () => {
  const stage = await aSlowPoller();
  const before = stage.feed.polls;
  for (let n = 0; n < 500; n++) {
    stage.channel.notify("");
    await stage.pass(100);
  }
  expect(stage.feed.polls - before).toBeLessThanOrEqual(11);
});

test("asks at once when a notification says that something changed", async () => {
  const stage = new NoticingStage(["column", "channel"], 3_600_000);
  stage.feed.insert("old");
  await stage.noticing.start();
  await stage.pass(MINUTE);
  stage.feed.insert("a");
  stage.channel.notify("");
  await stage.pass(100);
  expect(stage.noticed()).toEqual(["a"]);
});

test("asks once more if the notification comes during a poll", async () => {
  const stage = new NoticingStage(["column", "channel"], 3_600_000);
  stage.feed.insert("old");
  stage.feed.takes = 200;
  await stage.noticing.start();
  await stage.pass(MINUTE);
  stage.channel.notify("");
  await stage.pass(100);
  stage.feed.insert("a");
  stage.channel.notify("");
  await stage.pass(1_000);
  expect(stage.noticed()).toEqual(["a"]);
});

test("passes on which table the last run read", async () => {
  const stage = new NoticingStage(["column"]);
  await stage.noticing.start("public.customers");
  expect(stage.feed.before).toBe("public.customers");
});

test("goes down to the newest value once one that was far beyond all others is put right", async () => {
  const FAR = 9e14;
  const stage = await aPoller();
  const insert = (id: string, value: number): void => {
    const now = stage.clock.monotonic();
    stage.feed.versions.push({ id, given: now, committed: now, value });
  };
  insert("far", FAR);
  await stage.pass(3 * MINUTE);
  insert("hidden", 200_000);
  insert("far", 210_000);
  await stage.pass(3_000);
  insert("a", 500_000);
  await stage.pass(1_500);
  expect(stage.noticed()).toEqual(["far", "hidden", "far", "a"]);
});

describe("after a full sync", () => {
  test("notices again only what is near the newest value if its row is deleted", async () => {
    const stage = await aPoller();
    await stage.pass(3 * MINUTE);
    stage.feed.insert("a");
    await stage.pass(5_000);
    stage.feed.insert("gone");
    await stage.pass(3 * MINUTE);
    expect(stage.noticed()).toEqual(["a", "gone"]);
    stage.feed.versions.splice(2, 1);
    stage.noticing.syncEnded();
    await stage.pass(3 * MINUTE);
    expect(stage.noticed()).toEqual(["a"]);
  });

  test("asks at its usual pace if somebody has made the index", async () => {
    const stage = await aSlowPoller(["column"]);
    stage.feed.missing = null;
    stage.noticing.syncEnded();
    await stage.pass(MINUTE);
    const before = stage.feed.polls;
    await stage.pass(MINUTE);
    expect(stage.feed.polls - before).toBeGreaterThan(50);
  });
});
