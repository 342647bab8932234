import { SyncError } from "../core/failure/sync-error.ts";
import { age, incidentsOfState } from "../core/report/incidents.ts";
import type { DaemonState } from "../core/report/scope-facts.ts";
import { durationText } from "../core/text/quantity.ts";
import { type PageRequest, plain, type Reply, type Routes } from "./http/routes.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { pageHeaders } from "./status-page/document.ts";
import type { LookUp } from "./status-page/page-lookups.ts";
import { statusPage } from "./status-page/status-page.ts";
import { tenantPage } from "./status-page/tenant-page.ts";

/**
 * The pages that the daemon serves over HTTP. No page changes anything, or contains a token or a key. Only the page of one
 * tenant queries databases.
 */
export function pages(state: () => DaemonState, metrics: Metrics, lookUp: LookUp, now: () => Date): Routes {
  const home = async ({ query, gone }: PageRequest): Promise<Reply> => {
    const asked = new URLSearchParams(query).get("tenant") ?? "";
    if (asked === "") return page(200, statusPage(state(), now()));
    const lookup = await lookUp(asked, gone);
    return page(
      lookup instanceof SyncError ? (STATUSES[lookup.code] ?? 503) : 200,
      tenantPage(asked, lookup, state(), now()),
    );
  };
  return {
    "/": { page: home },
    "/healthz": { page: () => plain(200, "ok"), forAnyHost: true },
    "/readyz": { page: () => readyPage(state(), now()), forAnyHost: true },
    "/metrics": {
      page: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() }),
      forAnyHost: true,
    },
  };
}

function page(status: number, body: string): Reply {
  return { status, contentType: "text/html; charset=utf-8", body, headers: pageHeaders };
}

/** By the code of a failed lookup. */
const STATUSES: Readonly<Record<string, number>> = { UNKNOWN_ID: 404, TOO_MANY_LOOKUPS: 429 };

function readyPage(state: DaemonState, now: Date): Reply {
  const { isReady, reason } = readiness(state, now);
  return plain(isReady ? 200 : 503, reason);
}

interface Readiness {
  readonly isReady: boolean;
  /** For an operator to read. It has codes only: a database's message may quote a tenant's text, and anybody may ask. */
  readonly reason: string;
}

/**
 * Ready means that the last sync that reached its end, on any instance, ended so lately that `staleAt` is not over. Whatever else is
 * wrong changes nothing about that: one group that fails must not hide from a monitor that nothing is synced any more. The
 * reason tells it.
 */
export function readiness(state: DaemonState, now: Date): Readiness {
  const isReady = state.lastGoodSync !== null && now <= state.staleAt;
  const wrong = incidentsOfState(state, now).flatMap(({ kind, sentence, discreet }) =>
    kind === "stale" ? [] : [`\n${discreet ?? sentence}`],
  );
  return { isReady, reason: lastSyncText(state, now) + wrong.join("") };
}

function lastSyncText({ lastGoodSync, staleAt, standby }: DaemonState, now: Date): string {
  const because = standby ? ": another instance holds the lease" : "";
  if (lastGoodSync === null) return `no sync has reached its end yet${because}`;
  const ended = `the last sync that reached its end was ${durationText(age(lastGoodSync, now))} ago`;
  return now <= staleAt
    ? ended
    : `${ended}, and has been too old for ${durationText(age(staleAt, now))}${because}`;
}
