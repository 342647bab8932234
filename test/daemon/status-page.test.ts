import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Counts, noCounts } from "../../src/core/outcome.ts";
import type { DaemonState } from "../../src/daemon/state.ts";
import { statusPage, statusPageHeaders } from "../../src/daemon/status-page.ts";
import { anyText } from "../builders/arbitraries.ts";
import {
  aFailingGroup,
  aFinishedRun,
  aFreshDaemon,
  aHealthyDaemon,
  aHealthySnapshot,
  aHealthyStatus,
  anUnfinishedRun,
  aPastRun,
  daysAgo,
  hoursAgo,
  minutesAgo,
  NOW,
  secondsAgo,
  tokenAges,
} from "./a-healthy-daemon.ts";
import { SCENES } from "./status-page-scenes.ts";

const pageOf = (state: DaemonState): string => statusPage(state, NOW);

/** What there is to read, in one line. */
const textOf = (html: string): string =>
  html
    .replace(/^.*<body>/s, "")
    .replace(/<title>.*?<\/title>/g, "")
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ");

const readOf = (state: DaemonState): string => textOf(pageOf(state));

const headlineOf = (state: DaemonState): string[] => {
  const [, tone = "", box = ""] = /<div class="headline (\w+)">(.*?)<\/div>/s.exec(pageOf(state)) ?? [];
  return [tone, textOf(box).trim()];
};

const aBadEnd = { code: "SERVICE_UNAVAILABLE", message: "the service doesn't answer" };

/** The daemon after a sync with these counts. */
const afterSync = (counts: Partial<Counts>, failing = 0): DaemonState =>
  aHealthyDaemon({
    lastRun: null,
    ledger: aHealthySnapshot({
      status: aHealthyStatus({
        groups: { total: 383, in_sync: 370, under_way: 0, failing, missing: 0, unverified: 0 },
        runs: [aPastRun({ counts })],
      }),
    }),
  });

const aCurrentRun = { run: "4712", since: secondsAgo(10), done: 0, total: 0, waiting: null };
const aStandby = { since: minutesAgo(1), message: "another instance is at work: pod-2" };

describe("the headline", () => {
  const aHeldState = aHealthyDaemon({
    lastRun: null,
    ledger: aHealthySnapshot({
      status: aHealthyStatus({
        held: { count: 2, code: "0123456789ab", groups: [] },
        runs: [aPastRun({ counts: { held: 2 } })],
      }),
    }),
  });
  const anInconclusiveState = aHealthyDaemon({
    lastRun: aFinishedRun({
      outcome: "held",
      counts: { ...noCounts(), held: 9 },
      error: {
        code: "SOURCE_INCONCLUSIVE",
        message: "the source returned no valid row",
        hint: "check source.table",
      },
    }),
  });

  test.each<[string, DaemonState, tone: string, text: string]>([
    ["all is well", afterSync({}), "good", "All is well. 370 of 383 groups are in sync."],
    [
      "all is well but for tenants that are gone",
      aHealthyDaemon(),
      "good",
      "All is well. 381 of 383 groups are in sync; the tenants of 2 are gone.",
    ],
    [
      "nothing has happened yet",
      aFreshDaemon(),
      "idle",
      "Nothing has been synced yet. The first sync is due in 3 min.",
    ],
    [
      "nothing is known of the ledger yet",
      aFreshDaemon({ ledger: null }),
      "idle",
      "Nothing has been synced yet.",
    ],
    [
      "the first run goes on",
      aFreshDaemon({ current: aCurrentRun }),
      "busy",
      "A run is going on. It is the first",
    ],
    [
      "a run waits for the lease",
      aHealthyDaemon({ current: { ...aCurrentRun, run: null } }),
      "busy",
      "A run is about to begin. All was well after the last one.",
    ],
    [
      "a run goes on",
      aHealthyDaemon({ current: aCurrentRun }),
      "busy",
      "A run is going on. All was well after",
    ],
    [
      "another instance is at work",
      aHealthyDaemon({ standby: aStandby }),
      "idle",
      "Standing by: another instance is at work. This one takes over",
    ],
    ["it stops", aHealthyDaemon({ nextRun: null }), "idle", "It has been told to stop."],
    [
      "groups are failing",
      afterSync({ rejected: 1, failed: 2 }, 2),
      "attention",
      "Needs attention: 1 rejected row and 2 failing groups. All others are in order; these are tried again by themselves. The reasons, and the next tries",
    ],
    [
      "rows are rejected",
      afterSync({ rejected: 12_000 }),
      "attention",
      "Needs attention: 12 000 rejected rows. All others are in order; groupsync plan names",
    ],
    [
      "removals are held",
      aHeldState,
      "attention",
      "Needs attention: 2 removals held. Look at the source first: are these tenants really gone?",
    ],
    [
      "no code approves what is held",
      anInconclusiveState,
      "attention",
      "Needs attention: the source returned no valid row. Check source.table.",
    ],
    [
      "the last run failed",
      aHealthyDaemon({ lastRun: aFinishedRun({ error: { ...aBadEnd, hint: "is it up?" } }) }),
      "bad",
      "The last sync failed: the service doesn't answer Is it up? It is tried again in 3 min; nothing is lost",
    ],
    [
      "an earlier process's last run failed",
      aHealthyDaemon({
        lastRun: null,
        ledger: aHealthySnapshot({ status: aHealthyStatus({ runs: [aPastRun({ error: aBadEnd })] }) }),
      }),
      "bad",
      "The last sync failed: the service doesn't answer It is tried again",
    ],
    [
      "another instance has repaired what this one could not",
      aHealthyDaemon({ lastRun: aFinishedRun({ run: "4710", error: aBadEnd, startedAt: hoursAgo(1) }) }),
      "good",
      "All is well.",
    ],
    [
      "the last run failed, and one goes on",
      aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }), current: aCurrentRun }),
      "bad",
      "The last sync failed: the service doesn't answer Another run is going on now.",
    ],
    [
      "a run goes on after one that was told to stop",
      aHealthyDaemon({
        lastRun: null,
        current: aCurrentRun,
        ledger: aHealthySnapshot({
          status: aHealthyStatus({
            runs: [aPastRun({ error: { code: "INTERRUPTED", message: "told to stop" } })],
          }),
        }),
      }),
      "busy",
      "A run is going on. It goes on from where the last one was told to stop.",
    ],
    [
      "the last run was killed",
      aHealthyDaemon({
        lastRun: null,
        ledger: aHealthySnapshot({ status: aHealthyStatus({ runs: [anUnfinishedRun()] }) }),
      }),
      "bad",
      "The last run was killed; the next one settles what it left.",
    ],
    [
      "the ledger went away before the end could be written down",
      aHealthyDaemon({
        lastRun: aFinishedRun({ error: aBadEnd }),
        ledger: aHealthySnapshot({ status: aHealthyStatus({ runs: [anUnfinishedRun()] }) }),
      }),
      "bad",
      "The last sync failed: the service doesn't answer",
    ],
    ["the ledger is gone since", aHealthyDaemon({ ledger: null }), "bad", "The ledger cannot be read."],
    [
      "the ledger was never there",
      aHealthyDaemon({
        ledger: null,
        lastRun: aFinishedRun({
          run: null,
          error: { code: "LEDGER_UNAVAILABLE", message: "cannot open the ledger" },
        }),
      }),
      "bad",
      "The last sync failed: cannot open the ledger",
    ],
    [
      "no sync was good for long",
      aHealthyDaemon({ lastGoodSync: hoursAgo(3) }),
      "bad",
      "No sync has reached its end for 3 h. More than 15 min is too long. The log says",
    ],
    [
      "no sync was ever good",
      aFreshDaemon({ startedAt: hoursAgo(1) }),
      "bad",
      "No sync has reached its end in the 1 h since the start.",
    ],
    [
      "the other instance has not been good for long",
      aHealthyDaemon({ lastGoodSync: hoursAgo(50), standby: aStandby }),
      "bad",
      "No sync has reached its end for 2 days. More than 15 min is too long. Another instance holds the lease",
    ],
  ])("where %s", (_, state, tone, text) => {
    const [shownTone, shownText = ""] = headlineOf(state);
    expect(shownTone).toBe(tone);
    expect(shownText.slice(0, text.length)).toBe(text);
  });

  test("is the title, too", () => {
    expect(pageOf(aHealthyDaemon({ name: "eu" }))).toContain("<title>All is well. – groupsync eu</title>");
  });
});

describe("runs", () => {
  test("have times both ways", () => {
    const page = pageOf(aHealthyDaemon({ nextRun: minutesAgo(-2.5) }));
    expect(page).toContain(
      '<time datetime="2026-03-01T12:05:00.000Z">in 3\u00a0min <small>2026-03-01 12:05:00 UTC',
    );
    expect(page).toContain(
      '<time datetime="2026-03-01T12:00:00.000Z">3\u00a0min ago <small>2026-03-01 12:00:00 UTC',
    );
  });

  test("the last one says what it did", () => {
    const counts = { ...noCounts(), created: 12_345, unchanged: 1 };
    const lastRun = aFinishedRun({ counts, requests: 12_345 });
    expect(readOf(aHealthyDaemon({ lastRun }))).toContain(
      "sync ok 12 345 created, 1 unchanged ; 12 345 requests in 405 ms",
    );
    expect(readOf(aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }) }))).toContain(
      "sync failed SERVICE_UNAVAILABLE: the service doesn't answer ; 0 requests in 405 ms",
    );
  });

  test("the one that goes on says how far it is, and what it waits for", () => {
    const current = {
      ...aCurrentRun,
      since: minutesAgo(1),
      done: 2_500,
      total: 10_000,
      waiting: { until: secondsAgo(-30), reason: "the service asked for it" },
    };
    const text = readOf(aHealthyDaemon({ current }));
    expect(text).toContain("2 500 of 10 000 done, about 3 min left");
    expect(text).toContain("Waits until 2026-03-01 12:03:00 UTC : the service asked for it");
    expect(pageOf(aHealthyDaemon({ current }))).toContain('<progress max="10000" value="2500"');
    expect(readOf(aHealthyDaemon({ current: aCurrentRun }))).toContain("Reading the source and comparing");
  });

  test("the page is renewed sooner while one goes on", () => {
    expect(pageOf(aHealthyDaemon())).toContain('<meta http-equiv="refresh" content="30">');
    expect(pageOf(aHealthyDaemon({ current: aCurrentRun }))).toContain(
      '<meta http-equiv="refresh" content="5">',
    );
  });
});

test("groups are counted by state", () => {
  const groups = {
    total: 1_000_000,
    in_sync: 999_000,
    under_way: 5,
    failing: 0,
    missing: 1_234,
    unverified: 67,
  };
  expect(
    readOf(aHealthyDaemon({ ledger: aHealthySnapshot({ status: aHealthyStatus({ groups }) }) })),
  ).toContain(
    "Groups in all 1 000 000 in sync 999 000 under way 5 failing 0 missing 1 234 unverified 67 As the ledger was",
  );
});

describe("failing groups", () => {
  const failing = (count: number, listed: number, overrides = {}): DaemonState => {
    const status = aHealthyStatus({
      groups: { total: 383, in_sync: 0, under_way: 0, failing: count, missing: 0, unverified: 0 },
      failing: Array.from({ length: listed }, (_, index) =>
        aFailingGroup({ user_group_id: `cus-${index}.`, ...overrides }),
      ),
    });
    return aHealthyDaemon({ ledger: aHealthySnapshot({ status }) });
  };

  test("have their reason, and their next try", () => {
    expect(readOf(failing(1, 1, { message: "a <b> & c" }))).toContain(
      "cus-0. NOT_UPDATED: a <b> & c 3 in a row for 3 h, next try in 12 min (2026-03-01 12:14:30 UTC)",
    );
    expect(readOf(failing(1, 1, { retryAt: minutesAgo(1) }))).toContain("next try with the next sync");
  });

  test("are listed up to twenty, and counted", () => {
    const text = readOf(failing(1_500, 100));
    expect(text).toContain("Failing 1 500 cus-0.");
    expect(text).toContain("cus-19.");
    expect(text).not.toContain("cus-20.");
    expect(text).toContain("… and 1 480 more: groupsync status --json lists more");
    expect(readOf(failing(20, 20))).not.toContain("more:");
  });

  test("have messages of 500 characters at most", () => {
    const text = readOf(failing(1, 1, { message: "m".repeat(2_000) }));
    expect(text).toContain(`${"m".repeat(499)}…`);
    expect(text).not.toContain("m".repeat(500));
  });
});

test("what is held is listed up to ten, with the command that approves it", () => {
  const groups = Array.from({ length: 100 }, (_, index) => ({
    kind: index === 0 ? ("replace" as const) : ("delete" as const),
    user_group_id: `cus-${index}.`,
  }));
  const held = { count: 12_000, code: "4025bf58a4c4", groups };
  const state = aHealthyDaemon({ ledger: aHealthySnapshot({ status: aHealthyStatus({ held }) }) });
  const text = readOf(state);
  expect(text).toContain("Held 12 000 12 000 removals wait for approval.");
  expect(text).toContain("replace cus-0. delete cus-1.");
  expect(text).toContain("delete cus-9. … and 11 990 more: groupsync plan lists them");
  expect(pageOf(state)).toContain("<pre><code>groupsync sync --approve-deletions 4025bf58a4c4</code></pre>");
});

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
      aPastRun({ id: "1", startedAt: daysAgo(7), counts: { held: 2 } }),
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
    expect(page).toContain('aria-label="Sat, Feb 28: no runs"');
    expect(textOf(page)).toContain("Sun, Mar 1 2 1 0 0 0 1 1.4 s");
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

test("the ages of the tokens are a histogram", () => {
  const page = pageOf(
    aHealthyDaemon({ ledger: aHealthySnapshot({ tokenAges: tokenAges(50, 12_000, 0, 1) }) }),
  );
  expect(textOf(page)).toContain("under 7 days 50 7 to 30 days 12 000 30 to 60 days 0 60 days and more 1");
  const widths = [...page.matchAll(/<rect width="([\d.]+)%"/g)].map(([, width]) => Number(width));
  expect(widths).toEqual([0.5, 100, 0, 0.5]);
});

describe("who holds the lease", () => {
  const lease = { epoch: "1", holder: "pod-1", acquiredAt: minutesAgo(3), expiresAt: minutesAgo(-1) };

  test.each<[Partial<DaemonState>, string]>([
    [{}, "Lease free"],
    [{ ledger: null }, "Lease not known yet"],
    [{ current: aCurrentRun }, "Lease held by this instance"],
    [{ standby: aStandby }, "Lease another instance is at work: pod-2"],
    [{ ledger: aHealthySnapshot({ status: aHealthyStatus({ lease }) }) }, "Lease pod-1 , since 3 min ago"],
  ])("%#", (overrides, text) => {
    expect(readOf(aHealthyDaemon(overrides))).toContain(text);
  });
});

describe.each(Object.entries(SCENES))("the page %s", (_, state) => {
  const page = pageOf(state);

  test("loads nothing, runs nothing, sends nothing", () => {
    expect(/<(script|iframe|object|embed|img|form|button|input|base)\b/i.exec(page)).toBeNull();
    const tags = page.match(/<[^>]*>/g)?.join("") ?? "";
    expect(/\s(on\w+|style|srcset)=/i.exec(tags)).toBeNull();
    const links = [...tags.matchAll(/\s(?:href|src|xlink:href|action)="([^"]*)"/g)].map(([, link]) => link);
    expect(links.filter((link) => !/^(#|data:image\/svg\+xml,)/.test(link ?? ""))).toEqual([]);
    const [, style = ""] = /<style>(.*?)<\/style>/s.exec(page) ?? [];
    expect(style).not.toMatch(/url\(|@import|https?:/);
  });

  test("is in the style that its policy lets in", () => {
    const [, style = ""] = /<style>(.*?)<\/style>/s.exec(page) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(statusPageHeaders["content-security-policy"]).toContain(`style-src 'sha256-${hash}'`);
  });

  test("has links that lead somewhere", () => {
    for (const [, id] of page.matchAll(/href="#(\w+)"/g)) expect(page).toContain(`id="${id}"`);
  });
});

/** The same daemon, with this text wherever one comes from outside. */
function toldOf(text: string): DaemonState {
  const error = { code: text, message: text, hint: text };
  const lease = { epoch: "1", holder: text, acquiredAt: minutesAgo(3), expiresAt: minutesAgo(-1) };
  const status = aHealthyStatus({
    groups: { total: 9, in_sync: 7, under_way: 0, failing: 1, missing: 0, unverified: 0 },
    failing: [aFailingGroup({ user_group_id: text, code: text, message: text })],
    held: { count: 1, code: text, groups: [{ kind: "delete", user_group_id: text }] },
    service: { baseUrl: text, teamId: 1, updates: null },
    lease,
  });
  return aHealthyDaemon({
    version: text,
    name: text,
    schedule: text,
    timezone: text,
    lastRun: aFinishedRun({ command: text, error }),
    current: { ...aCurrentRun, waiting: { until: NOW, reason: text } },
    standby: { since: NOW, message: text },
    ledger: aHealthySnapshot({ status }),
  });
}

test("no text from outside becomes markup, or changes how other text reads", () => {
  const tagsOf = (page: string): string[] => page.match(/<[!/]?\w+/g) ?? [];
  const harmless = tagsOf(pageOf(toldOf("x")));
  const nasty = fc.oneof(
    anyText({ maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom("<", ">", '"', "'", "&", "/", "`", "=", "a", "\u202e", "\0", "\n"),
      maxLength: 40,
    }),
    fc.constantFrom("</style><script>", "<img src=x onerror=1>", '"><b>', "&lt;", "]]>", "--><!--", "\u2028"),
  );
  fc.assert(
    fc.property(nasty, (text) => {
      const page = pageOf(toldOf(`x${text}`));
      expect(tagsOf(page)).toEqual(harmless);
      expect(page.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }),
  );
});
