import { describe, expect, test } from "vitest";
import type { RejectionReason } from "../../../src/core/group/rejections.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import { messageText } from "../../../src/daemon/notifications/message.ts";
import {
  PROBLEM_KINDS,
  type ProblemCounts,
  updateProblems,
} from "../../../src/daemon/notifications/problems.ts";
import type { RunSummary } from "../../../src/ports/observer.ts";
import { aRunSummary } from "../../builders/daemon-state.ts";

const NOON = new Date("2026-03-01T12:00:00Z");
const LATER = new Date("2026-03-01T12:05:00Z");

/** What people are told when this is found after that. */
function textOf(
  before: ProblemCounts,
  after: ProblemCounts,
  run: RunSummary = aRunSummary(),
  reasons: readonly RejectionReason[] = [],
): string {
  const { problems } = updateProblems({}, before, NOON);
  const judged = updateProblems(problems, after, LATER);
  return messageText("eu", judged.changes, judged.problems, run, reasons);
}

const failed = aRunSummary({
  outcome: "failed",
  counts: noCounts(),
  error: {
    code: "SOURCE_UNAVAILABLE",
    message: 'invalid input syntax: "Acme"',
    hint: 'GRANT SELECT ON "Acme" TO "reader"',
  },
});
const held = aRunSummary({
  error: { code: "DELETIONS_HELD", message: "", hint: "groupsync sync --approve-deletions 5-c1" },
});
const OUTAGE = "the log and the status page say why, and what to do";
const SUMMARY = "sync ok: 1 unchanged; 0 requests in 1.0 s";

test.each<[string, string]>([
  [
    textOf({}, { service: 1 }, failed),
    `groupsync eu: the service fails\nsync failed: SOURCE_UNAVAILABLE (0 requests in 1.0 s)\n${OUTAGE}`,
  ],
  [
    textOf({}, { held: 5 }, held),
    "groupsync eu: 5 removals are held\nsync ok: DELETIONS_HELD (1 unchanged; 0 requests in 1.0 s)\ngroupsync sync --approve-deletions 5-c1",
  ],
  [
    textOf({}, { failing: 2, rejected: 1 }),
    `groupsync eu: 2 groups fail; 1 row is rejected\n${SUMMARY}\ngroupsync status names the groups that fail\ngroupsync status names the rows that are rejected`,
  ],
  [
    textOf({ failing: 2 }, { failing: 40 }),
    `groupsync eu: 40 groups fail, up from 2\n${SUMMARY}\ngroupsync status names the groups that fail`,
  ],
  [
    textOf({ source: 1 }, { source: 0 }),
    `groupsync eu: recovered: the source works again (after 5 min 0 s)\n${SUMMARY}`,
  ],
  [
    textOf({ service: 1, rejected: 1 }, { service: 0, rejected: 2 }),
    `groupsync eu: the service works again (after 5 min 0 s)\n${SUMMARY}\nstill: 2 rows are rejected, since 2026-03-01T12:00:00.000Z`,
  ],
  [
    textOf({ source: 1, held: 5 }, { source: 0, service: 1 }, failed),
    `groupsync eu: the source works again (after 5 min 0 s); the service fails\nsync failed: SOURCE_UNAVAILABLE (0 requests in 1.0 s)\n${OUTAGE}\nstill: 5 removals are held, since 2026-03-01T12:00:00.000Z`,
  ],
])("what people are told (%#)", (text, expected) => {
  expect(text).toBe(expected);
});

describe("why rows are rejected", () => {
  const aReason = (code: RejectionReason["code"], rows: number, message: string): RejectionReason => ({
    ...{ code, message, rows, since: NOON, ids: ["cus-1"] },
  });
  const reasons = [
    aReason("VALUE_NULL", 40, "a is null"),
    aReason("VALUE_UNUSABLE", 3, "column b holds Acme"),
    aReason("VALUE_NULL", 1, "c is null"),
  ];

  test("is told by the codes of the rows that are rejected now, without ids and values", () => {
    expect(textOf({}, { rejected: 44 }, aRunSummary(), reasons)).toBe(
      `groupsync eu: 44 rows are rejected\n${SUMMARY}\n41 rows: VALUE_NULL\n3 rows: VALUE_UNUSABLE\ngroupsync status names the rows that are rejected`,
    );
  });

  test("isn't told again if the rows were told before", () => {
    expect(textOf({ rejected: 44 }, { rejected: 44, failing: 1 }, aRunSummary(), reasons)).not.toContain(
      "VALUE_NULL",
    );
  });
});

test.each(PROBLEM_KINDS)("%s has words for its beginning and its end", (kind) => {
  expect(textOf({}, { [kind]: 1 })).toMatch(/^groupsync eu: .+\nsync ok: /);
  expect(textOf({ [kind]: 1 }, { [kind]: 0 })).toMatch(
    /^groupsync eu: recovered: .+ \(after 5 min 0 s\)\nsync ok: /,
  );
});
