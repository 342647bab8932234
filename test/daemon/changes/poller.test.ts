import { describe, expect, test } from "vitest";
import { MOST_ROWS } from "../../../src/core/changes/change-window.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { NoticingStage } from "./a-noticing.ts";

const AWAY = new SyncError("SOURCE_UNAVAILABLE", "cannot read customers: gone", { hint: "is it running?" });
const MINUTE = 60_000;

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
  expect(stage.feed.looks.length).toBeGreaterThanOrEqual(40);
  expect(stage.feed.looks.length).toBeLessThanOrEqual(42);
  expect(stage.feed.opened).toBe(1);
});

test("asks one thing at a time, also if an answer takes longer than the period", async () => {
  const stage = await aPoller();
  stage.feed.takes = 3_000;
  await stage.pass(30_000);
  const times = stage.feed.looks.map(({ at }) => at);
  expect(times.slice(2).every((at, n) => at - (times[n + 1] ?? 0) >= 3_000)).toBe(true);
});

test("is alive since its first look", async () => {
  const stage = await aPoller();
  expect(stage.noticing.state.column).toEqual({ kind: "alive", since: stage.clock.now() });
  expect(stage.noticing.state.channel).toBeNull();
  await stage.pass(MINUTE);
  expect(stage.log.map(({ level, message }) => [level, message])).toEqual([
    ["info", "groupsync asks for changed tenants by source.changes.column"],
  ]);
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
      message: `${message}; until that is mended, the next full sync finds what changes`,
    },
  ]);
  expect(stage.noticing.state.column).toMatchObject({ kind: "broken", error: { code, message, hint } });
  expect(stage.feed.openNow).toBe(0);

  stage.feed.fails = undefined;
  await stage.pass(MINUTE);
  expect(stage.noticed()).toEqual(["missed"]);
  expect(stage.noticing.state.column).toMatchObject({ kind: "alive" });
  expect(stage.log.at(-1)).toMatchObject({ level: "info", message: expect.stringContaining("again") });
});

test("tries at least once a minute to reach a database that is away", async () => {
  const stage = await aPoller();
  stage.feed.fails = AWAY;
  await stage.pass(30 * MINUTE);
  stage.feed.fails = undefined;
  await stage.pass(MINUTE);
  expect(stage.noticing.state.column).toMatchObject({ kind: "alive" });
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
  const stage = new NoticingStage(["column"]);
  stage.feed.insert("old");
  stage.feed.missing = "CREATE INDEX …";
  stage.feed.takes = 500;
  await stage.noticing.start();
  const before = stage.feed.looks.length;
  await stage.pass(50_000);
  // Each look reads the table twice: above the newest value and below it.
  expect(stage.feed.looks.length - before).toBeLessThanOrEqual(6);
  expect(stage.feed.looks.length - before).toBeGreaterThanOrEqual(4);
  expect(stage.log.filter(({ level }) => level === "warn")).toMatchObject([
    { code: "CHANGES_NOT_INDEXED", hint: "CREATE INDEX …" },
  ]);
});

test("goes on at its usual pace without an index if the table is small", async () => {
  const stage = new NoticingStage(["column"]);
  stage.feed.insert("old");
  stage.feed.missing = "CREATE INDEX …";
  stage.feed.takes = 5;
  await stage.noticing.start();
  await stage.pass(MINUTE);
  expect(stage.feed.looks.length).toBeGreaterThan(55);
  expect(stage.warnings()).toEqual([]);
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
  const stage = new NoticingStage();
  stage.feed.insert("old");
  stage.feed.missing = "CREATE INDEX …";
  stage.feed.takes = 500;
  await stage.noticing.start();
  const before = stage.feed.looks.length;
  for (let n = 0; n < 500; n++) {
    stage.channel.notify("");
    await stage.pass(100);
  }
  expect(stage.feed.looks.length - before).toBeLessThanOrEqual(11);
});

test("asks at its usual pace as soon as somebody has made the index", async () => {
  const stage = new NoticingStage(["column"]);
  stage.feed.insert("old");
  stage.feed.missing = "CREATE INDEX …";
  stage.feed.takes = 500;
  await stage.noticing.start();
  stage.feed.missing = null;
  await stage.pass(12 * MINUTE);
  expect(stage.log.at(-1)).toMatchObject({
    level: "info",
    message: "source.changes.column has an index now",
  });
  const before = stage.feed.looks.length;
  await stage.pass(MINUTE);
  expect(stage.feed.looks.length - before).toBeGreaterThan(50);
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

test("asks once more if the notification comes during a look", async () => {
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

describe("one value that is far beyond all others", () => {
  const insertFar = ({ feed, clock }: NoticingStage, id = "far", value = FAR): void => {
    const now = clock.monotonic();
    feed.versions.push({ id, given: now, committed: now, value });
  };
  const FAR = 9e14;

  test("hides no other row, neither while it stands nor after it was mended", async () => {
    const stage = await aPoller();
    await stage.pass(5_000);
    insertFar(stage);
    await stage.pass(3 * MINUTE);
    expect(stage.noticed()).toEqual(["far"]);
    for (const id of ["a", "b"]) {
      stage.feed.insert(id);
      await stage.pass(1_000);
      expect(stage.noticed()).toEqual([id]);
      await stage.pass(3 * MINUTE);
    }
    stage.feed.insert("far");
    await stage.pass(1_000);
    expect(stage.noticed()).toEqual(["far"]);
    await stage.pass(3 * MINUTE);
    stage.feed.insert("c");
    await stage.pass(1_000);
    expect(stage.noticed()).toEqual(["c"]);
  });

  test("hides no other row if it was there before the start", async () => {
    const stage = new NoticingStage(["column"]);
    stage.feed.insert("old");
    insertFar(stage);
    await stage.noticing.start();
    await stage.pass(200);
    for (const id of ["a", "b"]) {
      stage.feed.insert(id);
      await stage.pass(1_000);
      expect(stage.noticed()).toEqual([id]);
      await stage.pass(3 * MINUTE);
    }
  });

  test("is told with the id of its row once a row is written below it, and until it is mended", async () => {
    const stage = await aPoller();
    insertFar(stage);
    await stage.pass(3 * MINUTE);
    stage.log.splice(0);
    stage.feed.insert("a");
    await stage.pass(3 * MINUTE);
    stage.feed.insert("b");
    await stage.pass(MINUTE);
    const warning = {
      code: "CHANGES_FAR_AHEAD",
      message: expect.stringContaining(`of far is 0${FAR + 1e12}`),
    };
    expect(stage.log).toMatchObject([{ level: "warn", ...warning }]);
    expect(stage.noticing.state.column).toMatchObject({ kind: "alive", warning });
    stage.feed.insert("far");
    await stage.pass(2_000);
    expect(stage.noticing.state.column).toMatchObject({ kind: "alive" });
    expect(stage.noticing.state.column).not.toHaveProperty("warning");
  });

  test("hides rows no longer than to the next full sync if it is one of several, once they are mended", async () => {
    const stage = await aPoller();
    for (const n of [1, 2, 3]) insertFar(stage, `far ${n}`, FAR + n);
    await stage.pass(3 * MINUTE);
    const far = stage.feed.versions.splice(1);
    stage.feed.insert("missed");
    await stage.pass(MINUTE);
    expect([far.length, stage.noticed()]).toEqual([3, ["far 1", "far 2", "far 3"]]);
    stage.noticing.syncEnded();
    await stage.pass(1_500);
    expect(stage.noticed()).toEqual(["anything"]);
    stage.feed.insert("a");
    await stage.pass(1_000);
    expect(stage.noticed()).toEqual(["a"]);
  });

  test("is asked for again after a full sync, which costs no other one if it is the only value", async () => {
    const stage = await aPoller();
    stage.noticing.syncEnded();
    await stage.pass(3 * MINUTE);
    stage.noticing.syncEnded();
    await stage.pass(2_000);
    expect(stage.noticed()).toEqual([]);
  });

  test("that was really the newest one costs no full sync when its row is deleted", async () => {
    const stage = await aPoller();
    stage.feed.insert("a");
    await stage.pass(5_000);
    stage.feed.insert("gone");
    await stage.pass(3 * MINUTE);
    stage.feed.versions.splice(2, 1);
    stage.noticing.syncEnded();
    await stage.pass(3 * MINUTE);
    expect(stage.noticed()).toEqual(["a", "gone"]);
  });
});
