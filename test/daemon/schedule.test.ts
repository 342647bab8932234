import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { cronTimetable, dueTimesOf, type ScheduleSettings } from "../../src/daemon/schedule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

afterEach(() => {
  vi.useRealTimers();
});

/** With the time that it is in the test. */
function at(now: string): void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: new Date(now) });
}

function aTimetable(line: string, settings: Partial<ScheduleSettings> = {}) {
  const dueTimes: string[] = [];
  const onDue = (): void => void dueTimes.push(new Date().toISOString());
  const timetable = cronTimetable({ line, timezone: "UTC", jitterMs: 0, ...settings }, onDue);
  onTestFinished(() => timetable.stop());
  return { dueTimes, timetable };
}

/** One that starts at this time of the test. */
function started(now: string, line: string, settings: Partial<ScheduleSettings> = {}) {
  at(now);
  const { dueTimes, timetable } = aTimetable(line, settings);
  timetable.start();
  return { dueTimes, timetable };
}

/** Each part of a jitter is half of it. */
function halveJitter(): void {
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
}

describe("the scheduled times", () => {
  test("come when the line says, by the clock of its zone", async () => {
    const { dueTimes, timetable } = started("2026-03-28T12:00:00Z", "0 3 * * *", {
      timezone: "Europe/Berlin",
    });
    expect(timetable.next).toEqual(new Date("2026-03-29T01:00:00Z"));
    await vi.advanceTimersByTimeAsync(DAY);
    expect(dueTimes).toEqual(["2026-03-29T01:00:00.000Z"]);
  });

  test("come also where the next one is further away than a timer of Node.js can wait", async () => {
    const { dueTimes } = started("2028-02-01T00:00:00Z", "0 0 29 2 *");
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(dueTimes).toEqual([]);
    vi.setSystemTime(new Date("2028-02-28T23:30:00Z"));
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(dueTimes).toEqual(["2028-02-29T00:00:00.000Z"]);
  });

  test.each([
    ["Europe/Berlin", "2026-10-24T23:00:00Z"],
    ["America/New_York", "2026-11-01T04:00:00Z"],
  ])("leave no hour out when the clocks of %s are set back", async (timezone, before) => {
    const { dueTimes } = started(before, "*/30 * * * *", { timezone });
    await vi.advanceTimersByTimeAsync(4 * HOUR);
    const times = dueTimes.map((time) => Date.parse(time));
    expect(new Set(times.slice(1).map((time, n) => time - (times[n] ?? 0)))).toEqual(new Set([30 * MINUTE]));
  });

  test("are put off by a random part of the jitter", async () => {
    halveJitter();
    const { dueTimes } = started("2026-03-01T12:00:30Z", "*/5 * * * *", { jitterMs: MINUTE });
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(dueTimes).toEqual(["2026-03-01T12:05:30.000Z", "2026-03-01T12:10:30.000Z"]);
  });

  test("that are put off don't come after the stop, however many they are", async () => {
    halveJitter();
    const { dueTimes, timetable } = started("2026-03-01T12:00:30Z", "* * * * *", { jitterMs: HOUR });
    await vi.advanceTimersByTimeAsync(3 * MINUTE);
    timetable.stop();
    await vi.advanceTimersByTimeAsync(2 * HOUR);
    expect(dueTimes).toEqual([]);
  });

  test("go by the clock also after it was set back by a day", async () => {
    const { dueTimes, timetable } = started("2026-03-02T12:00:30Z", "*/5 * * * *");
    vi.setSystemTime(new Date("2026-03-01T12:01:30Z"));
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(dueTimes).toEqual(["2026-03-01T12:05:00.000Z", "2026-03-01T12:10:00.000Z"]);
    timetable.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("over which the machine slept are made up for by one", async () => {
    const { dueTimes } = started("2026-03-01T12:00:30Z", "*/5 * * * *");
    vi.setSystemTime(new Date("2026-03-01T20:02:30Z"));
    await vi.advanceTimersByTimeAsync(8 * MINUTE);
    expect(dueTimes).toEqual([
      "2026-03-01T20:03:00.000Z",
      "2026-03-01T20:05:00.000Z",
      "2026-03-01T20:10:00.000Z",
    ]);
  });
});

describe("when the clocks are set,", () => {
  test.each([
    [
      "a line for each hour comes in both hours",
      "*/30 * * * *",
      "2026-10-25T00:20:00Z",
      ["00:30", "01:00", "01:30"],
    ],
    ["a fixed time comes once", "30 2 * * *", "2026-10-24T12:00:00Z", ["00:30", "01:30"]],
    [
      "a fixed time that is left out comes right after",
      "30 2 * * *",
      "2026-03-28T12:00:00Z",
      ["01:00", "00:30"],
    ],
    [
      "two times a day come in both hours",
      "30 2,14 * * *",
      "2026-10-24T13:00:00Z",
      ["00:30", "01:30", "13:30"],
    ],
    [
      "two times a day don't come in an hour that is left out",
      "30 2,14 * * *",
      "2026-03-28T14:00:00Z",
      ["12:30"],
    ],
  ])("%s", (_, line, from, times) => {
    const dueTimes = dueTimesOf({ line, timezone: "Europe/Berlin" }).nextRuns(times.length, new Date(from));
    expect(dueTimes.map((time) => time.toISOString().slice(11, 16))).toEqual(times);
  });
});

describe("the third scheduled time after a time", () => {
  test.each([
    ["2026-03-02T16:52:00Z", "2026-03-03T09:05:00.000Z"],
    ["2026-03-02T23:00:00Z", "2026-03-03T09:10:00.000Z"],
  ])("after %s leaves the night out", (time, third) => {
    const { timetable } = aTimetable("*/5 9-16 * * *");
    expect(timetable.after(new Date(time), 3)?.toISOString()).toBe(third);
  });

  test("may be late by the jitter", () => {
    const { timetable } = aTimetable("0 * * * *", { jitterMs: MINUTE });
    expect(timetable.after(new Date("2026-03-02T16:52:00Z"), 3)?.toISOString()).toBe(
      "2026-03-02T19:01:00.000Z",
    );
  });
});
