import { type Page, type Pages, plain } from "./http.ts";
import type { Metrics } from "./metrics.ts";
import { readiness } from "./readiness.ts";
import type { DaemonState } from "./state.ts";
import { statusPage, statusPageHeaders } from "./status-page.ts";

/** What the daemon shows over HTTP. None of it asks the database, changes anything, or holds a secret. */
export const pages = (state: () => DaemonState, metrics: Metrics, now: () => Date): Pages => ({
  "/": () => ({
    status: 200,
    contentType: "text/html; charset=utf-8",
    body: statusPage(state(), now()),
    headers: statusPageHeaders,
  }),
  "/healthz": () => plain(200, "ok"),
  "/readyz": () => readyPage(state(), now()),
  "/metrics": async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() }),
});

function readyPage(state: DaemonState, now: Date): Page {
  const { isReady, reason } = readiness(state, now);
  return plain(isReady ? 200 : 503, reason);
}
