import { expect, test } from "vitest";
import type { DaemonState } from "../../src/core/report/scope-facts.ts";
import { readiness } from "../../src/daemon/pages.ts";
import { aServingState } from "../builders/daemon-state.ts";
import { aFinishedRun, aHealthyDaemon, hoursAgo, NOW, secondsAgo } from "./a-healthy-daemon.ts";
import { aBadEnd, aStandby } from "./status-page/shown-page.ts";

const OLD = "the last sync that reached its end was 3 h 0 min ago, and has been too old for 2 h 45 min";

test.each<[string, Partial<DaemonState>, boolean, string]>([
  ["nothing is known yet", { lastGoodSync: null }, false, "no sync has reached its end yet"],
  [
    "the last one is recent",
    { lastGoodSync: secondsAgo(61) },
    true,
    "the last sync that reached its end was 1 min 1 s ago",
  ],
  [
    "it is just not too old",
    { lastGoodSync: secondsAgo(60), staleAt: NOW },
    true,
    "the last sync that reached its end was 1 min 0 s ago",
  ],
  ["it is too old", { lastGoodSync: hoursAgo(3) }, false, OLD],
  [
    "it is too old, and another instance is at work",
    { lastGoodSync: hoursAgo(3), standby: aStandby },
    false,
    `${OLD}: another instance holds the lease`,
  ],
  [
    "another machine's clock is ahead",
    { lastGoodSync: secondsAgo(-5) },
    true,
    "the last sync that reached its end was 0 ms ago",
  ],
  [
    "a later one has failed with a tenant's text, and a single tenant fails",
    {
      lastGoodSync: secondsAgo(60),
      lastRun: aFinishedRun({ error: { ...aBadEnd, message: 'invalid input: "Acme"' } }),
      serving: aServingState({ failing: 1 }),
    },
    true,
    "the last sync that reached its end was 1 min 0 s ago\nThe last sync failed: SERVICE_UNAVAILABLE\nNeeds attention: 1 failing group.",
  ],
])("whether a daemon is ready, if %s", (_, known, isReady, reason) => {
  expect(readiness(aHealthyDaemon(known), NOW)).toEqual({ isReady, reason });
});
