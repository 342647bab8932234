import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DaemonState } from "../../../src/core/report/scope-facts.ts";
import { pageHeaders } from "../../../src/daemon/status-page/document.ts";
import { aBrokenFeed, aServingState, someGroups } from "../../builders/daemon-state.ts";
import {
  aFailingGroup,
  aFinishedRun,
  aHealthyDaemon,
  aHealthySnapshot,
  minutesAgo,
  NOW,
} from "../a-healthy-daemon.ts";
import { aCurrentRun, anyMarkup, pageOf } from "./shown-page.ts";
import { SCENES } from "./status-page-scenes.ts";
import { TENANT_PAGES } from "./tenant-page-scenes.ts";

test("the first sentence is the title, too", () => {
  expect(pageOf(aHealthyDaemon({ name: "eu" }))).toContain("<title>All is well. – groupsync eu</title>");
});

const PAGES = {
  ...Object.fromEntries(Object.entries(SCENES).map(([name, state]) => [name, pageOf(state)])),
  ...TENANT_PAGES,
};

describe.each(Object.entries(PAGES))("the page %s", (_, page) => {
  test("loads nothing, runs nothing, sends nothing", () => {
    expect(/<(iframe|object|embed|img|base)\b/i.exec(page)).toBeNull();
    const active = page.match(/<(script|form|button|input)\b[^>]*>/g);
    expect(active?.filter((tag) => tag !== '<button type="button" class="copy">')).toEqual([
      '<form role="search">',
      expect.stringMatching(/^<input id="find" name="tenant" type="search" /),
      "<button>",
      "<script>",
    ]);
    const tags = page.match(/<[^>]*>/g)?.join("") ?? "";
    expect(/\s(on\w+|style|srcset|action|method|formaction)=/i.exec(tags)).toBeNull();
    const links = [...tags.matchAll(/\s(?:href|src|xlink:href|action)="([^"]*)"/g)].map(([, link]) => link);
    expect(
      links.filter(
        (link) =>
          !/^(#main$|\?$|\?tenant=|data:image\/svg\+xml,|https:\/\/git\.example\.com\/docs\/\w+\.md#)/.test(
            link ?? "",
          ),
      ),
    ).toEqual([]);
    const [, style = ""] = /<style>(.*?)<\/style>/s.exec(page) ?? [];
    expect(style).not.toMatch(/url\(|@import|https?:/);
  });

  test.each(["style", "script"])("has the %s that its policy lets in", (tag) => {
    const [, text = ""] = new RegExp(`<${tag}>(.*?)</${tag}>`, "s").exec(page) ?? [];
    const hash = createHash("sha256").update(text).digest("base64");
    expect(pageHeaders["content-security-policy"]).toContain(`${tag}-src 'sha256-${hash}'`);
  });

  test("has headings in order, and no id twice", () => {
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    const steps = levels.map((level, index) => level - (levels[index - 1] ?? 0));
    expect(Math.max(...steps)).toBe(1);
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test("a long host or path breaks behind a dot or a slash, and a command to copy doesn't", () => {
  const ledger = aHealthySnapshot({ groups: someGroups({ wanted: 1 }) });
  const page = pageOf(aHealthyDaemon({ configPath: "/srv/eu/a.yaml", ledger }));
  expect(page).toContain("dashboards.<wbr>example.<wbr>com, team 42");
  expect(page).toContain("/srv/<wbr>eu/<wbr>a.<wbr>yaml</bdi>");
  expect(page).toContain("<code>groupsync --config /srv/eu/a.yaml rotate --cancel</code>");
});

test("a problem leads to its runbook by address, if the config says where the docs are", () => {
  const state = SCENES.everything!;
  const runbook = '<a href="https://git.example.com/docs/runbooks.md#deletions-are-held">';
  expect(pageOf(state)).toContain(runbook);
  expect(pageOf({ ...state, docsUrl: null })).not.toContain("runbooks.md");
});

test("times are in the config's time zone, which is named once", () => {
  const page = pageOf(
    aHealthyDaemon({ timezone: "Asia/Kathmandu", nextRun: new Date("2026-03-01T18:20:00Z") }),
  );
  expect(page).toContain(
    '<time datetime="2026-03-01T18:20:00.000Z" title="2026-03-02 00:05:00"><span class="exact">2026-03-02 00:05:00 (</span>in 6\u00a0h<',
  );
  expect(page.split("Asia/Kathmandu")).toHaveLength(2);
});

test.each<[DaemonState, number]>([
  [aHealthyDaemon(), 30],
  [aHealthyDaemon({ current: aCurrentRun }), 5],
])("the page is renewed sooner while a run goes on (%#)", (state, seconds) => {
  expect(pageOf(state)).toContain(`<noscript><meta http-equiv="refresh" content="${seconds}"></noscript>`);
  expect(pageOf(state)).toContain(`<body data-refresh="${seconds}">`);
});

/** The same daemon, with this text wherever one comes from outside. */
function problemsToSend(text: string): DaemonState {
  const error = { code: text, message: text, hint: text };
  const lease = {
    epoch: "1",
    holder: text,
    acquiredAt: minutesAgo(3),
    expiresAt: minutesAgo(-1),
    handOverMs: null,
  };
  const ledger = aHealthySnapshot({
    groups: someGroups({ total: 9, in_sync: 7, failing: 1 }),
    failing: [aFailingGroup({ user_group_id: text, code: text, message: text })],
    held: { count: 1, code: text, groups: [{ kind: "delete", user_group_id: text }] },
    service: { baseUrl: text, teamId: 1, updates: null, answeredAt: null },
    lease,
    names: new Map([[text, text]]),
  });
  return aHealthyDaemon({
    version: text,
    name: text,
    schedule: text,
    configPath: text,
    lastRun: aFinishedRun({ command: text, error }),
    current: { ...aCurrentRun, waiting: { until: NOW, reason: text } },
    standby: { message: text },
    serving: aServingState({ feeds: { channel: aBrokenFeed(NOW, error) } }),
    ledger,
  });
}

test("no text from outside becomes markup, or changes how other text reads", () => {
  const tagsOf = (page: string): string[] => page.match(/<(?!wbr)[!/]?\w+/g) ?? [];
  const harmless = tagsOf(pageOf(problemsToSend("x")));
  fc.assert(
    fc.property(anyMarkup(), (text) => {
      const page = pageOf(problemsToSend(`x${text}`));
      expect(tagsOf(page)).toEqual(harmless);
      expect(page.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }),
  );
});
