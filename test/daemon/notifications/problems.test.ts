import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  lasting,
  PROBLEM_KINDS,
  type ProblemChange,
  type ProblemCounts,
  type Problems,
  updateProblems,
} from "../../../src/daemon/notifications/problems.ts";

const NOON = Date.UTC(2026, 2, 1, 12);
const MINUTE = 60_000;

/** What changes after each of these runs, which found so many and are so many minutes apart. */
function changesAfter(found: readonly (number | undefined)[], minutes = 5): ProblemChange[][] {
  let problems: Problems = {};
  return found.map((count, run) => {
    const counts: ProblemCounts = count === undefined ? {} : { failing: count };
    const judged = updateProblems(problems, counts, new Date(NOON + run * minutes * MINUTE));
    problems = judged.problems;
    return judged.changes;
  });
}

const toldOf = (found: readonly (number | undefined)[], minutes?: number): string[] =>
  changesAfter(found, minutes).map((changes) => changes.map(({ change }) => change).join());

describe("people are notified of a problem", () => {
  test.each<[string, (number | undefined)[], string[]]>([
    ["not before there is one", [0, 0, undefined], ["", "", ""]],
    [
      "when it begins and when it ends, and not in between",
      [0, 2, 2, 1, 0, 0],
      ["", "began", "", "", "ended", ""],
    ],
    ["when the first thing known of it is that it is there", [1], ["began"]],
    ["not to be over by a run that can't know", [3, undefined, 0], ["began", "", "ended"]],
    ["again when it is twice as much as was told, and ten more", [1, 10, 11], ["began", "", "grew"]],
    ["not for twice as much alone, nor for ten more alone", [4, 9, 13], ["began", "", ""]],
    ["not for ten more alone", [100, 110, 199, 200], ["began", "", "", "grew"]],
    [
      "by the most that was told, when it goes up and down",
      [40, 5, 40, 79, 80],
      ["began", "", "", "", "grew"],
    ],
  ])("%s", (_, found, told) => {
    expect(toldOf(found)).toEqual(told);
  });

  test("once more when it is soon back, and then as over only when it was away for an hour", () => {
    const everyOther = Array.from({ length: 40 }, (_, run) => run % 2);
    const told = toldOf(everyOther);
    expect(told.slice(0, 4)).toEqual(["", "began", "ended", "began"]);
    expect(told.slice(4).join("")).toBe("");
    const away = toldOf([1, 0, 1, ...Array.from({ length: 14 }, () => 0)]);
    expect(away.indexOf("ended", 3)).toBe(3 + 60 / 5);
    expect(away.filter((change) => change !== "")).toEqual(["began", "ended", "began", "ended"]);
  });

  test("as having lasted until it was first found to be gone, even if that is told an hour later", () => {
    const ended = changesAfter([1, 0, 1, ...Array.from({ length: 14 }, () => 0)])
      .flat()
      .filter(({ change }) => change === "ended");
    expect(ended.map(({ lastedMs }) => lastedMs)).toEqual([5 * MINUTE, 5 * MINUTE]);
  });

  test("each time, if an hour or more lies in between", () => {
    expect(toldOf([1, 0, 1, 0], 61)).toEqual(["began", "ended", "began", "ended"]);
  });
});

const anyFindings: fc.Arbitrary<ProblemCounts> = fc
  .tuple(
    ...PROBLEM_KINDS.map((kind) =>
      fc.option(fc.nat(60), { nil: undefined }).map((count) => [kind, count] as const),
    ),
  )
  .map((entries) => Object.fromEntries(entries.filter(([, count]) => count !== undefined)));

test("one problem does not change the notifications of another", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyFindings, fc.nat(90))), (runs) => {
      const newsOf = (only?: string): ProblemChange[] => {
        let problems: Problems = {};
        let at = NOON;
        return runs.flatMap(([counts, minutes]) => {
          at += minutes * MINUTE;
          const seen = Object.entries(counts).filter(([kind]) => only === undefined || kind === only);
          const judged = updateProblems(problems, Object.fromEntries(seen), new Date(at));
          problems = judged.problems;
          return judged.changes;
        });
      };
      const all = newsOf();
      for (const kind of PROBLEM_KINDS)
        expect(all.filter((changes) => changes.kind === kind)).toEqual(newsOf(kind));
    }),
  );
});

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
        for (const { kind, change } of judged.changes) {
          expect(open.has(kind)).toBe(change !== "began");
          if (change === "ended") open.delete(kind);
          else open.add(kind);
        }
        for (const [kind] of lasting(problems)) expect(open).toContain(kind);
      }
    }),
  );
});
