import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { CronTimetable, type ScheduleSettings } from "../../src/daemon/schedule.ts";

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
  const ticks: string[] = [];
  const onTick = (): void => void ticks.push(new Date().toISOString());
  const timetable = new CronTimetable({ line, timezone: "UTC", jitterMs: 0, ...settings }, onTick);
  onTestFinished(() => timetable.stop());
  return { ticks, timetable };
}

describe("the ticks", () => {
  test("come in real time, until the stop", async () => {
    const { ticks, timetable } = aTimetable("* * * * * *");
    expect(timetable.next).toBeNull();
    timetable.start();
    expect(timetable.next?.getTime()).toBeGreaterThan(Date.now() - 1);
    await expect.poll(() => ticks.length, { timeout: 10_000 }).toBeGreaterThan(1);
    timetable.stop();
    expect(timetable.next).toBeNull();
    const { length } = ticks;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(ticks).toHaveLength(length);
  });

  test("come when the line says, by the clock of its zone", async () => {
    at("2026-03-28T12:00:00Z");
    const { ticks, timetable } = aTimetable("0 3 * * *", { timezone: "Europe/Berlin" });
    timetable.start();
    expect(timetable.next).toEqual(new Date("2026-03-29T01:00:00Z"));
    await vi.advanceTimersByTimeAsync(2 * DAY);
    expect(ticks).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-30T01:00:00.000Z"]);
  });

  test("come also where the next one is further away than a timer of Node.js can wait", async () => {
    at("2026-03-01T00:00:00Z");
    const { ticks, timetable } = aTimetable("0 0 29 2 *");
    timetable.start();
    await vi.advanceTimersByTimeAsync(60 * DAY);
    expect(ticks).toEqual([]);
    await vi.advanceTimersByTimeAsync(670 * DAY);
    expect(ticks).toEqual(["2028-02-29T00:00:00.000Z"]);
  });

  test.each(["Europe/Berlin", "America/New_York"])(
    "leave no hour out when the clocks of %s are set back",
    async (timezone) => {
      at("2026-10-24T23:00:00Z");
      const { ticks, timetable } = aTimetable("*/30 * * * *", { timezone });
      timetable.start();
      await vi.advanceTimersByTimeAsync(10 * DAY);
      const times = ticks.map((tick) => Date.parse(tick));
      expect(new Set(times.slice(1).map((time, n) => time - (times[n] ?? 0)))).toEqual(
        new Set([30 * MINUTE]),
      );
    },
  );

  test("come at the full hour of a zone that has another one than UTC", () => {
    at("2026-03-01T12:00:00Z");
    const { timetable } = aTimetable("0 * * * *", { timezone: "Asia/Kolkata" });
    timetable.start();
    expect(timetable.next).toEqual(new Date("2026-03-01T12:30:00Z"));
  });

  test("are put off by a random part of the jitter", async () => {
    at("2026-03-01T12:00:30Z");
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const { ticks, timetable } = aTimetable("*/5 * * * *", { jitterMs: MINUTE });
    timetable.start();
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(ticks).toEqual(["2026-03-01T12:05:30.000Z", "2026-03-01T12:10:30.000Z"]);
  });

  test("that are put off don't come after the stop, however many they are", async () => {
    at("2026-03-01T12:00:30Z");
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const { ticks, timetable } = aTimetable("* * * * *", { jitterMs: HOUR });
    timetable.start();
    await vi.advanceTimersByTimeAsync(3 * MINUTE);
    timetable.stop();
    await vi.advanceTimersByTimeAsync(2 * HOUR);
    expect(ticks).toEqual([]);
  });

  test("go by the clock also after it was set back by a day", async () => {
    const toFake = ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] as const;
    vi.useFakeTimers({ toFake: [...toFake], now: new Date("2026-03-02T12:00:30Z") });
    const { ticks, timetable } = aTimetable("*/5 * * * *");
    timetable.start();
    vi.setSystemTime(new Date("2026-03-01T12:01:30Z"));
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(ticks).toEqual(["2026-03-01T12:05:00.000Z", "2026-03-01T12:10:00.000Z"]);
    timetable.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("over which the machine slept are made up for by one", async () => {
    at("2026-03-01T12:00:30Z");
    const { ticks, timetable } = aTimetable("*/5 * * * *");
    timetable.start();
    vi.setSystemTime(new Date("2026-03-01T20:02:30Z"));
    await vi.advanceTimersByTimeAsync(8 * MINUTE);
    expect(ticks).toEqual(["2026-03-01T20:07:00.000Z", "2026-03-01T20:10:00.000Z"]);
  });
});

describe("the longest pause", () => {
  test.each<[line: string, pause: number, timezone?: string]>([
    ["*/5 * * * *", 5 * MINUTE],
    ["*/5 * * * *", 5 * MINUTE, "Europe/Berlin"],
    ["0,20 * * * *", 40 * MINUTE],
    ["* 0,30 * * * *", 29 * MINUTE + 1_000],
    ["@hourly", HOUR],
    ["0 3 * * *", DAY],
    ["*/5 8-18 * * *", 13 * HOUR + 5 * MINUTE],
    ["*/5 8-18 * * 1-5", 2 * DAY + 13 * HOUR + 5 * MINUTE],
    ["0 0 * * mon", 7 * DAY],
    ["0 0 1 * *", 31 * DAY],
    // The years 2100 and 2200 have no such day.
    ["0 0 29 2 *", 8 * 365 * DAY + DAY],
  ])("of %s", (line, pause, timezone = "UTC") => {
    // A Monday, before the first tick of its day.
    at("2026-03-02T00:00:30Z");
    expect(aTimetable(line, { timezone }).timetable.periodMs).toBe(pause);
  });

  test.each([
    ["set forward", "2026-03-28T00:00:00Z", DAY],
    ["set back", "2026-10-24T00:00:00Z", DAY + HOUR],
  ])("is that of a day that the clocks are %s on", (_, now, pause) => {
    at(now);
    expect(aTimetable("0 12 * * *", { timezone: "Europe/Berlin" }).timetable.periodMs).toBe(pause);
  });
});
