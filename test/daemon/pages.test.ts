import { expect, onTestFinished, test } from "vitest";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import type { DaemonState } from "../../src/core/report/scope-facts.ts";
import { serve } from "../../src/daemon/http/http-server.ts";
import { Metrics } from "../../src/daemon/metrics/metrics.ts";
import { pages } from "../../src/daemon/pages.ts";
import type { Lookup } from "../../src/daemon/status-page/page-lookups.ts";
import { aDaemonState } from "../builders/daemon-state.ts";
import { anExplanation } from "../builders/explained.ts";
import { aClock } from "../fakes/set-clock.ts";

const NOON = new Date("2026-03-01T12:00:00Z");

/** What is shown over HTTP, at noon and of a state, both of which a test can change. */
async function shown() {
  const daemon: { state: DaemonState; now: Date; lookup: Lookup; asked: string[] } = {
    ...{ state: aDaemonState(), now: NOON, asked: [] },
    lookup: anExplanation(),
  };
  const state = (): DaemonState => daemon.state;
  const at = async (id: string): Promise<Lookup> => {
    daemon.asked.push(id);
    return daemon.lookup;
  };
  const made = pages(state, new Metrics(state, aClock()), at, () => daemon.now);
  const server = await serve({ host: "127.0.0.1", port: 0 }, () => made);
  onTestFinished(() => server.close());
  return { daemon, ask: (path: string): Promise<Response> => fetch(server.url + path) };
}

test("it is ready when its promise is kept, and says why where it isn't", async () => {
  const { daemon, ask } = await shown();
  const before = await ask("/readyz");
  expect([before.status, await before.text()]).toEqual([503, "no sync has reached its end yet\n"]);
  daemon.state = aDaemonState({ lastGoodSync: NOON });
  const after = await ask("/readyz");
  expect([after.status, await after.text()]).toEqual([
    200,
    "the last sync that reached its end was 0 ms ago\n",
  ]);
});

test("the status page is of now, and may load and run nothing", async () => {
  const { daemon, ask } = await shown();
  daemon.state = aDaemonState({ name: "asia-7" });
  const answer = await ask("/");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = answer.headers.get("content-security-policy");
  expect(policy).toMatch(/default-src 'none'.*style-src/);
  expect(policy).toContain("connect-src 'self';");
  expect(policy).not.toMatch(/unsafe|https?:|\*|'none'.*script-src (?!'sha256-[^ ]*';)/);
  expect(await answer.text()).toContain("asia-7");
});

test("a tenant is shown if its id is asked for, and only then are databases asked", async () => {
  const { daemon, ask } = await shown();
  for (const path of ["/", "/?", "/?tenant=", "/?other=a"])
    expect(await (await ask(path)).text()).toContain("Last good sync");
  expect(daemon.asked).toEqual([]);
  const answer = await ask("/?tenant=a%2Fb+%26%E2%82%AC");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(answer.headers.get("content-security-policy")).toMatch(/default-src 'none'/);
  expect(await answer.text()).toContain("acme: in sync");
  expect(daemon.asked).toEqual(["a/b &\u20ac"]);
});

test.each([
  ["UNKNOWN_ID", 404],
  ["TOO_MANY_LOOKUPS", 429],
  ["LOOKUP_TOO_SLOW", 503],
  ["SOURCE_UNAVAILABLE", 503],
])("why a tenant isn't shown is said by the status, too: %s", async (code, status) => {
  const { daemon, ask } = await shown();
  daemon.lookup = new SyncError(code, "not now");
  expect((await ask("/?tenant=a")).status).toBe(status);
});
