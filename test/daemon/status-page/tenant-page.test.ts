import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Unusable } from "../../../src/core/group/tenant.ts";
import type { Lookup } from "../../../src/daemon/status-page/page-lookups.ts";
import { tenantPage } from "../../../src/daemon/status-page/tenant-page.ts";
import type { Explanation } from "../../../src/engine/explain/explain-tenant.ts";
import { tenantView } from "../../../src/engine/explain/facts.ts";
import { aCurrentRun } from "../../builders/daemon-state.ts";
import { anExplanation, aRecordedGroup, NO_RECORDED_FAILURES } from "../../builders/explained.ts";
import { aChangeFailure, aDesiredTenant, aRow } from "../../builders/groups.ts";
import { aHealthyDaemon, NOW } from "../a-healthy-daemon.ts";
import { anyMarkup, textOf } from "./shown-page.ts";

const pageOf = (lookup: Lookup, id = "acme", timezone = "UTC"): string =>
  tenantPage(id, lookup, aHealthyDaemon({ timezone }), NOW);

const readOf = (...page: Parameters<typeof pageOf>): string => textOf(pageOf(...page));

function waiting(): Explanation {
  const tenant = aDesiredTenant({ name: "New" });
  const failure = {
    ...aChangeFailure({ fingerprint: tenant.fingerprint, retryAt: new Date("2026-03-01T18:00:00Z") }),
    since: new Date("2026-02-05T00:00:00Z"),
  };
  const group = aRecordedGroup({ failures: { ...NO_RECORDED_FAILURES, change: failure } });
  return anExplanation({ tenant, group }, { now: NOW });
}

describe("the page of a tenant", () => {
  test("has all that explain says, with times in the time zone", () => {
    const text = readOf(waiting(), "acme", "Asia/Kathmandu");
    expect(text).toContain(
      "acme: failing the last try failed with REFUSED; a sync tries again after 2026-03-01 23:45:00 (in 6 h) compare the group's name, mapping and properties with a group that works",
    );
    expect(text).toContain("Then: groupsync --config /etc/groupsync/config.yaml sync --only acme");
    expect(text).toContain('row in public.customers row.id "acme" row.name "Acme"');
    expect(text).toContain('group.name "New" the service confirmed "Acme" group.mapping.40 "warehouse-7"');
    expect(text).toContain(
      "token hash the-hash token since 2026-02-03 05:45:00 (27 days ago), for 24 h 0 min",
    );
    expect(text).toContain("first recorded 2026-02-01 05:45:00");
    for (const { label } of tenantView(waiting()).sections[0]?.facts ?? [])
      expect(text).toContain(` ${label} `);
  });

  test("of a tenant in sync ends with what asks the service about its token, however odd its id is", () => {
    const tenant = aDesiredTenant({ user_group_id: "o'hara <b>" });
    const group = aRecordedGroup({ fingerprint: tenant.fingerprint });
    const page = readOf(anExplanation({ user_group_id: "o'hara <b>", tenant, group }));
    expect(page).toContain("o'hara <b>: in sync");
    expect(page).toContain(
      "If its token is refused all the same: groupsync --config /etc/groupsync/config.yaml sync --refresh --only 'o'\\''hara <b>'",
    );
  });

  test("of a new tenant says when its group is made", () => {
    const isNew = anExplanation({ tenant: aDesiredTenant(), group: null });
    const at = (state: Parameters<typeof aHealthyDaemon>[0]): string =>
      textOf(tenantPage("acme", isNew, aHealthyDaemon(state), NOW));
    const nextRun = new Date(NOW.getTime() + 180_000);
    expect(at({ nextRun, current: null })).toMatch(/The next sync begins at 2026-\S+ \S+ \(in 3.min\)/);
    expect(at({ nextRun, current: aCurrentRun() })).toContain("A run is under way now.");
    expect(readOf(anExplanation())).not.toContain("next sync begins");
  });

  test("has the id in its box, and isn't asked for anew by itself", () => {
    const page = pageOf(anExplanation(), '"><b>');
    expect(page).toContain('value="&quot;&gt;&lt;b&gt;"');
    expect(page).not.toMatch(/http-equiv="refresh"|data-refresh/);
    expect(page).toContain('<a href="?">Status page</a>');
  });

  test("says why a sync would fail as a whole", () => {
    const failure = new SyncError("KEY_REFUSED", "the key <is> refused", { hint: "name another" });
    expect(readOf(anExplanation({ failures: [failure] }))).toContain(
      "A sync would fail: the key <is> refused name another What KEY_REFUSED means: groupsync help KEY_REFUSED",
    );
  });
});

test("those who are found are listed with links to their pages", () => {
  const tenants = Array.from({ length: 11 }, (_, index) => ({
    user_group_id: `a/${index}`,
    name: index === 0 ? null : "Acme <Ltd>",
    state: "failing change, wanted",
  }));
  const few = pageOf(tenants.slice(0, 2), "acme");
  expect(textOf(few)).toContain(
    "2 tenants whose id or name begins with acme. Tenants a/0 failing change, wanted a/1 Acme <Ltd> failing change, wanted",
  );
  expect(few).toContain('href="?tenant=a%2F1"');
  const many = readOf(tenants);
  expect(many).toContain(
    "The first 10 tenants whose id or name begins with acme. There are more: write more",
  );
  expect(many).not.toContain("a/10");
});

test.each<[string, string]>([
  ["UNKNOWN_ID", "There is no such tenant UNKNOWN_ID: no\\u{202e} Check case."],
  ["TOO_MANY_LOOKUPS", "a/b can't be explained TOO_MANY_LOOKUPS: no\\u{202e} Check case."],
  [
    "SOURCE_UNAVAILABLE",
    "a/b can't be explained SOURCE_UNAVAILABLE: no\\u{202e} Check case. To ask without the limits of this page: groupsync --config /etc/groupsync/config.yaml explain -- a/b",
  ],
])("what keeps a tenant from being shown is said plainly: %s", (code, text) => {
  const error = new SyncError(code, "no\u202e", { hint: "check case" });
  expect(readOf(error, "a/b")).toContain(text);
});

/** The same tenant, with this text wherever one comes from outside. */
function problemsToSend(text: string): string[] {
  const failure = { ...aChangeFailure(), code: text, message: text, since: NOW };
  const explanation = anExplanation({
    tokenDestinations: [text],
    failures: [new SyncError(text, text, { hint: text })],
    user_group_id: text,
    columns: [text, "name"],
    rows: [{ cells: [text, new Unusable(text)], digest: aRow(), removed: false, notReady: false }],
    table: text,
    tenant: aDesiredTenant({ name: text, properties: { x: text } }),
    group: aRecordedGroup({
      held: "replace",
      serviceName: text,
      unverified: "updated",
      failures: { change: failure, rotation: failure, storing: failure },
    }),
    formerTokens: [{ fingerprint: text, since: null, until: NOW }],
    copies: { kind: "unreadable", error: new SyncError(text, text, { hint: text }) },
    approval: text,
  });
  const failed = new SyncError(text, text, { hint: text });
  return [explanation, [{ user_group_id: text, name: text, state: "in sync" }], failed].map((lookup) =>
    pageOf(lookup, text),
  );
}

test("no text from outside becomes markup, or changes how other text reads", () => {
  const tagsOf = (pages: readonly string[]): string[] => pages.join("").match(/<(?!wbr)[!/]?\w+/g) ?? [];
  const harmless = tagsOf(problemsToSend("x"));
  fc.assert(
    fc.property(anyMarkup(), (text) => {
      const pages = problemsToSend(`x${text}`);
      expect(tagsOf(pages)).toEqual(harmless);
      expect(pages.join("").replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }),
  );
});
