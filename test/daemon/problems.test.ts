import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noCounts } from "../../src/core/report/counts.ts";
import {
  lasting,
  PROBLEM_KINDS,
  type ProblemCounts,
  type ProblemNews,
  type Problems,
  problemsOfRun,
  updateProblems,
  workingBy,
} from "../../src/daemon/problems.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import type { Served } from "../../src/ports/serve-tenant.ts";

const NOON = Date.UTC(2026, 2, 1, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What is told after each of these runs, which found so many and are so far apart. */
function newsOf(found: readonly (number | undefined)[], everyMs = 5 * MINUTE): (ProblemNews | null)[] {
  let problems: Problems = {};
  return found.map((count, run) => {
    const counts: ProblemCounts = count === undefined ? {} : { failing: count };
    const judged = updateProblems(problems, counts, new Date(NOON + run * everyMs));
    problems = judged.problems;
    return judged.news;
  });
}

const toldOf = (found: readonly (number | undefined)[], everyMs?: number): string[] =>
  newsOf(found, everyMs).map((news) => {
    if (news === null) return "";
    return news.began.length > 0 ? "began" : news.ended.length > 0 ? "ended" : "lasts";
  });

describe("people are notified of a problem", () => {
  test.each<[string, (number | undefined)[], string[]]>([
    ["not before there is one", [0, 0, undefined], ["", "", ""]],
    [
      "when it begins and when it ends, and not in between",
      [0, 2, 200, 1, 0, 0],
      ["", "began", "", "", "ended", ""],
    ],
    ["when the first thing known of it is that it is there", [1], ["began"]],
    ["not to be over by a run that can't know", [3, undefined, 0], ["began", "", "ended"]],
    ["each time that it is back", [1, 0, 1, 0], ["began", "ended", "began", "ended"]],
  ])("%s", (_, found, told) => {
    expect(toldOf(found)).toEqual(told);
  });

  test("once a day while it lasts, also if a run can't know", () => {
    const found = [1, 1, 1, undefined, 1, 1, 1, 0];
    const told = ["began", "", "", "lasts", "", "", "lasts", "ended"];
    expect(toldOf(found, 10 * HOUR)).toEqual(told);
  });

  test("as having lasted until the run that has shown its end", () => {
    expect(newsOf([1, undefined, 0]).at(-1)?.ended).toEqual([{ kind: "failing", lastedMs: 10 * MINUTE }]);
  });
});

test("a message about one problem names those that last, so no reminder of them is due for a day", () => {
  const at = (hours: number): Date => new Date(NOON + hours * HOUR);
  const first = updateProblems({}, { failing: 1 }, at(0));
  const second = updateProblems(first.problems, { rejected: 1 }, at(20));
  expect(updateProblems(second.problems, {}, at(30)).news).toBeNull();
  expect(updateProblems(second.problems, {}, at(45)).news).toEqual({ began: [], ended: [] });
});

const anyFindings: fc.Arbitrary<ProblemCounts> = fc
  .tuple(
    ...PROBLEM_KINDS.map((kind) =>
      fc.option(fc.nat(60), { nil: undefined }).map((count) => [kind, count] as const),
    ),
  )
  .map((entries) => Object.fromEntries(entries.filter(([, count]) => count !== undefined)));

test("only a problem that was notified as begun is notified as ended, and only if it has ended", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyFindings, fc.nat(90))), (runs) => {
      let problems: Problems = {};
      let at = NOON;
      const open = new Set<string>();
      for (const [counts, minutes] of runs) {
        at += minutes * MINUTE;
        const judged = updateProblems(problems, counts, new Date(at));
        problems = judged.problems;
        for (const kind of judged.news?.began ?? []) {
          expect(open.has(kind)).toBe(false);
          open.add(kind);
        }
        for (const { kind } of judged.news?.ended ?? []) expect(open.delete(kind)).toBe(true);
        expect(lasting(problems).map(([kind]) => kind)).toEqual(
          PROBLEM_KINDS.filter((kind) => open.has(kind)),
        );
      }
    }),
  );
});

const counts = { ...noCounts(), held: 5, failed: 2, rejected: 1 };
const aServed = (served: Served): RunEvent => ({ kind: "served", user_group_id: "a", served, ms: 1 });
const aRecorded: RunEvent = {
  kind: "recorded",
  user_group_id: "a",
  result: "created",
  unverified: false,
  tokenFingerprint: "0",
};
const WORKING = { program: 0, ledger: 0, stores: 0, service: 0 };

test.each<["ok" | "partial" | "held" | "failed", string | null, ProblemCounts]>([
  ["ok", null, { ...WORKING, source: 0, clocks: 0, held: 5, failing: 2, rejected: 1 }],
  ["partial", null, { ...WORKING, source: 0, clocks: 0, held: 5, failing: 2, rejected: 1 }],
  ["partial", "CLOCK_DIFFERS", { ...WORKING, source: 0, clocks: 1, failing: 2, rejected: 1 }],
  ["held", "DELETIONS_HELD", { ...WORKING, source: 0, clocks: 0, held: 5, failing: 2, rejected: 1 }],
  ["held", "SOURCE_INCONCLUSIVE", { ...WORKING, source: 1, failing: 2, rejected: 1 }],
  ["failed", "SOURCE_UNAVAILABLE", { program: 0, ledger: 0, source: 1 }],
  ["failed", "SERVICE_UNAVAILABLE", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "KEY_REFUSED", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "INTERMEDIARY_REFUSED", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "TEAM_CHANGED", { program: 0, ledger: 0, source: 0, service: 1 }],
  ["failed", "TOKEN_STORE_BUSY", { program: 0, ledger: 0, stores: 1 }],
  ["failed", "LEDGER_UNAVAILABLE", { program: 0, ledger: 1 }],
  ["failed", "LEASE_LOST", { program: 0, ledger: 1 }],
  ["failed", "COMMITS_LOST", { program: 0, ledger: 1 }],
  ["failed", "CONFIG_INVALID", { program: 1 }],
  ["failed", "INTERNAL", { program: 1 }],
  ["failed", null, { program: 1 }],
  ["failed", "INTERRUPTED", {}],
  ["failed", "LEASE_HELD", {}],
])("a sync that is %s (%s) shows", (outcome, code, problems) => {
  const error = code === null ? null : { code, message: "it says why" };
  expect(problemsOfRun({ outcome, counts, error }, new Set(["service", "stores"]))).toEqual(problems);
});

test.each<["service" | "stores"]>([["service"], ["stores"]])(
  "a good sync shows that the %s works only if that was seen",
  (kind) => {
    const shown = { program: 0, ledger: 0, source: 0, clocks: 0, held: 0, failing: 0, rejected: 0 };
    const good = { outcome: "ok", counts: noCounts(), error: null } as const;
    expect(problemsOfRun(good, new Set())).toEqual(shown);
    expect(problemsOfRun(good, new Set([kind]))).toEqual({ ...shown, [kind]: 0 });
  },
);

test.each<[RunEvent, readonly string[]]>([
  [aRecorded, ["service", "stores"]],
  [{ kind: "deleted", user_group_id: "a", absence: "absent" }, ["service", "stores"]],
  [{ kind: "refreshed", user_group_id: "a" }, ["service"]],
  [{ kind: "answered", at: new Date(0) }, ["service"]],
  [{ kind: "restored", user_group_id: "a" }, ["stores"]],
  [aServed({ kind: "done", outcome: "created" }), ["service", "stores"]],
  [aServed({ kind: "done", outcome: "restored" }), ["stores"]],
  [aServed({ kind: "done", outcome: "unchanged" }), []],
  [aServed({ kind: "failed", code: "KEY_REFUSED", message: "HTTP 401" }), []],
  [{ kind: "failed", user_group_id: "a", code: "REFUSED", message: "HTTP 422" }, []],
])("%j shows to work", (event, working) => {
  expect(workingBy(event)).toEqual(working);
});
