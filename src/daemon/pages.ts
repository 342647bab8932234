import { type Page, type Pages, plain } from "./http.ts";
import type { Metrics } from "./metrics.ts";
import { readiness } from "./readiness.ts";
import type { DaemonState } from "./state.ts";
import { statusPage, statusPageHeaders } from "./status-page.ts";

/** What the daemon shows over HTTP. None of it asks the database, changes anything, or holds a secret. */
export const pages = (state: () => DaemonState, metrics: Metrics, now: () => Date): Pages => ({
  "/": {
    page: () => ({
      status: 200,
      contentType: "text/html; charset=utf-8",
      body: statusPage(state(), now()),
      headers: statusPageHeaders,
    }),
  },
  "/healthz": { page: () => plain(200, "ok"), forAnyHost: true },
  "/readyz": { page: () => readyPage(state(), now()), forAnyHost: true },
  "/metrics": {
    page: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() }),
    forAnyHost: true,
  },
});

function readyPage(state: DaemonState, now: Date): Page {
  const { isReady, reason } = readiness(state, now);
  return plain(isReady ? 200 : 503, reason);
}
