import fc from "fast-check";
import type { Counts } from "../../../src/core/report/counts.ts";
import type { DaemonState, LedgerStatus } from "../../../src/core/report/scope-facts.ts";
import { statusPage } from "../../../src/daemon/status-page/status-page.ts";
import { anyText } from "../../builders/arbitraries.ts";
import { someGroups } from "../../builders/daemon-state.ts";
import {
  aHealthyDaemon,
  aHealthySnapshot,
  aPastRun,
  minutesAgo,
  NOW,
  secondsAgo,
} from "../a-healthy-daemon.ts";

export const pageOf = (state: DaemonState): string => statusPage(state, NOW);

/** What there is to read, in one line. */
export const textOf = (html: string): string =>
  html
    .replace(/^.*<body[^>]*>/s, "")
    .replace(/<script>.*<\/script>/s, "")
    .replace(/<title>.*?<\/title>/g, "")
    .replace(/<span class="exact">(.*?)<\/span>/g, "$1")
    .replace(/<wbr>|<\/?time[^>]*>/g, "")
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ");

export const readOf = (state: DaemonState): string => textOf(pageOf(state));

export const aBadEnd = { code: "SERVICE_UNAVAILABLE", message: "the service doesn't answer" };

/** The daemon after a sync with these counts. */
export const afterSync = (
  counts: Partial<Counts>,
  failing = 0,
  rejected: LedgerStatus["rejected"] = [],
): DaemonState =>
  aHealthyDaemon({
    lastRun: null,
    ledger: aHealthySnapshot({
      groups: someGroups({ total: 383, in_sync: 370, failing }),
      rejected,
      runs: [aPastRun({ counts })],
    }),
  });

export const aCurrentRun = { run: "4712", since: secondsAgo(10), done: 0, total: 0, waiting: null };
export const aStandby = { since: minutesAgo(1), message: "another instance is at work: pod-2" };

/** Text that would be markup, or change how other text reads, if a page didn't escape it. */
export const anyMarkup = (): fc.Arbitrary<string> =>
  fc.oneof(
    anyText({ maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom("<", ">", '"', "'", "&", "/", "`", "=", "a", "\u202e", "\0", "\n"),
      maxLength: 40,
    }),
    fc.constantFrom("</style><script>", "<img src=x onerror=1>", '"><b>', "&lt;", "]]>", "--><!--", "\u2028"),
  );
