import { plain, type Reply } from "./http/reply.ts";
import type { Routes } from "./http/routes.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { readiness } from "./state/readiness.ts";
import type { DaemonState } from "./state/state.ts";
import { statusPage, statusPageHeaders } from "./status-page/status-page.ts";

/** The pages that the daemon serves over HTTP. No page queries a database, changes anything, or contains a secret. */
export function pages(state: () => DaemonState, metrics: Metrics, now: () => Date): Routes {
  const ofThisSecond = madeOnce(statusPage);
  return {
    "/": {
      page: () => ({
        status: 200,
        contentType: "text/html; charset=utf-8",
        body: ofThisSecond(state(), now()),
        headers: statusPageHeaders,
      }),
    },
    "/healthz": { page: () => plain(200, "ok"), forAnyHost: true },
    "/readyz": { page: () => readyPage(state(), now()), forAnyHost: true },
    "/metrics": {
      page: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() }),
      forAnyHost: true,
    },
  };
}

/**
 * Makes the page again only if a second has passed, or a run has begun or ended. With a week of runs the page is
 * expensive, and somebody may request it in an endless loop.
 */
function madeOnce(make: (state: DaemonState, at: Date) => string): typeof make {
  let shown: { readonly of: readonly unknown[]; readonly page: string } = { of: [], page: "" };
  return (state, at) => {
    const { current, standby, lastRun, ledger } = state;
    const of = [Math.floor(at.getTime() / 1000), current === null, standby, lastRun, ledger];
    if (of.some((part, n) => part !== shown.of[n])) shown = { of, page: make(state, at) };
    return shown.page;
  };
}

function readyPage(state: DaemonState, now: Date): Reply {
  const { isReady, reason } = readiness(state, now);
  return plain(isReady ? 200 : 503, reason);
}
