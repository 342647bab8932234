import { describe, expect, test } from "vitest";
import { runChart } from "../../../src/daemon/status-page/run-chart.ts";
import {
  aHealthyDaemon,
  aHealthySnapshot,
  anUnfinishedRun,
  aPastRun,
  daysAgo,
  hoursAgo,
  manyRuns,
  minutesAgo,
} from "../a-healthy-daemon.ts";
import { aBadEnd, aCurrentRun, pageOf, textOf } from "./shown-page.ts";

describe("the runs of the last days", () => {
  const drawn = (...history: ReturnType<typeof aPastRun>[]): string =>
    pageOf(aHealthyDaemon({ ledger: aHealthySnapshot({ history }) }));
  const barsIn = (page: string): string[] =>
    [...page.matchAll(/<g><title>(.*?)<\/title><\w+ class="([\w-]+)"/g)].map(([, title, kind]) =>
      `${kind} ${title}`.replaceAll("\u00a0", " "),
    );

  test("are a bar for each hour, marked by the worst ending", () => {
    const page = drawn(
      aPastRun({ id: "5", startedAt: minutesAgo(2), tookMs: 4_000 }),
      aPastRun({ id: "4", startedAt: minutesAgo(20), counts: { rejected: 1 } }),
      aPastRun({ id: "3", startedAt: minutesAgo(25), error: aBadEnd, tookMs: 61_000 }),
      anUnfinishedRun({ id: "2", startedAt: daysAgo(1) }),
      aPastRun({ id: "1", startedAt: daysAgo(6), counts: { held: 2 } }),
    );
    expect(barsIn(page)).toEqual([
      "held 12:00 to 13:00: 1 run: 1 held; the longest took 1.4 s",
      "unfinished 12:00 to 13:00: 1 run: 1 unfinished",
      "failed-column 11:00 to 12:00: 2 runs: 1 partial, 1 failed; the longest took 1 min 1 s",
      "ok 12:00 to 13:00: 1 run: 1 ok; the longest took 4.0 s",
    ]);
  });

  test("are higher the longer they took, and never higher than the picture", () => {
    const times = [8_000_000, 100_000, 5_000, 900, 50, 0];
    const page = drawn(...times.map((tookMs, index) => aPastRun({ startedAt: hoursAgo(index), tookMs })));
    const [picture = ""] = page.split('<ul class="legend">');
    const heights = [...picture.matchAll(/<rect class="ok" [^>]*height="([\d.]+)"/g)].map(([, height]) =>
      Number(height),
    );
    expect(heights).toHaveLength(times.length);
    // Drawn from the earliest to the latest, and each of them longer than the one before.
    expect(heights).toEqual(heights.toSorted((a, b) => a - b));
    expect(new Set(heights).size).toBe(times.length - 1);
    expect(heights[0]).toBeGreaterThan(0);
    expect(heights.at(-1)).toBeLessThan(108);
  });

  test("are told day by day to those who don't see them", () => {
    const page = drawn(aPastRun(), aPastRun({ id: "1", error: aBadEnd })).replaceAll("\u00a0", " ");
    expect(page).toContain('aria-label="Sun, Mar 1: 2 runs: 1 ok, 1 failed; the longest took 1.4 s"');
    expect(textOf(page)).toContain("Sun, Mar 1 2 1 0 0 0 1 1.4 s");
  });

  test("are of seven days, and days without any are named in one line", () => {
    const page = drawn(
      aPastRun({ id: "4" }),
      aPastRun({ id: "3", startedAt: daysAgo(2) }),
      aPastRun({ id: "2", startedAt: daysAgo(5) }),
      aPastRun({ id: "1", startedAt: daysAgo(7) }),
    );
    expect([...page.matchAll(/<figcaption>(.*?)</g)].map(([, day]) => day)).toEqual([
      "Tue, Feb 24",
      "Fri, Feb 27",
      "Sun, Mar 1",
    ]);
    expect(textOf(page)).toContain("No runs: Mon, Feb 23; Wed, Feb 25 to Thu, Feb 26; Sat, Feb 28 ok");
    expect(drawn(...manyRuns(7, 24 * 60))).not.toContain("No runs");
  });

  test.each([
    ["Asia/Kathmandu", "2026-03-01T18:14:59Z", "23:00 to 24:00", "Sun, Mar 1"],
    ["Asia/Kathmandu", "2026-03-01T18:15:00Z", "00:00 to 01:00", "Mon, Mar 2"],
    ["Australia/Adelaide", "2026-10-03T16:29:59Z", "01:00 to 02:00", "Sun, Oct 4"],
    ["Australia/Adelaide", "2026-10-03T16:45:00Z", "03:00 to 04:00", "Sun, Oct 4"],
    ["America/New_York", "2026-03-08T06:59:59Z", "01:00 to 02:00", "Sun, Mar 8"],
    ["America/New_York", "2026-03-08T07:00:00Z", "03:00 to 04:00", "Sun, Mar 8"],
  ])("are at the hours of the wall clock (%s, %s)", (timeZone, startedAt, hour, day) => {
    const now = new Date(new Date(startedAt).getTime() + 60_000);
    const run = aPastRun({ startedAt: new Date(startedAt) });
    const chart = runChart([run], { now, timeZone }, null).markup;
    expect(chart).toContain(`<title>${hour}: 1 run`);
    expect(chart).toContain(`<figcaption>${day}<`);
  });

  test("have a legend of what is to be seen", () => {
    const page = drawn(aPastRun(), aPastRun({ id: "1", startedAt: hoursAgo(3), error: aBadEnd }));
    const [, legend = ""] = /<ul class="legend">(.*?)<\/ul>/s.exec(page) ?? [];
    expect(textOf(legend).trim()).toBe("ok failed");
  });

  test("leave out the one that goes on", () => {
    const history = [anUnfinishedRun({ id: aCurrentRun.run, startedAt: aCurrentRun.since })];
    expect(
      barsIn(pageOf(aHealthyDaemon({ current: aCurrentRun, ledger: aHealthySnapshot({ history }) }))),
    ).toEqual([]);
  });
});
