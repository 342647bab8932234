import { type Page, type Pages, plain } from "./http.ts";
import type { Metrics } from "./metrics.ts";
import { readiness } from "./readiness.ts";
import type { DaemonState } from "./state.ts";
import { statusPage, statusPageHeaders } from "./status-page.ts";

/** What the daemon shows over HTTP. None of it asks the database, changes anything, or holds a secret. */
export function pages(state: () => DaemonState, metrics: Metrics, now: () => Date): Pages {
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
 * The page tells the time in seconds, and with a week of runs takes longer to make than all else that a request costs:
 * for neighbours who ask without end it is made once in each, and when a run begins or ends.
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

function readyPage(state: DaemonState, now: Date): Page {
  const { isReady, reason } = readiness(state, now);
  return plain(isReady ? 200 : 503, reason);
}
