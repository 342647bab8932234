import fc from "fast-check";
import { expect, test } from "vitest";
import { RetryBudget } from "../../../src/core/limits/retry-budget.ts";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";

const RESERVE = 100;
const UNANSWERED = 7;
const aBudget = () => new RetryBudget({ reserve: RESERVE, unanswered: UNANSWERED });

/** How many of so many calls fail for good, each made again while the budget allows. */
function failedCalls(calls: number, failShare: number): number {
  const budget = aBudget();
  const random = seededRandom(1);
  let failed = 0;
  for (let n = 0; n < calls; n++) {
    let isAnswered = random() >= failShare;
    while (!isAnswered && budget.take()) isAnswered = random() >= failShare;
    if (isAnswered) budget.answered();
    else failed++;
  }
  return failed;
}

test.each([0.05, 0.3, 0.4])(
  "of a service that fails a share of %f of its requests, all are repeated",
  (share) => {
    expect(failedCalls(5_000, share)).toBe(0);
  },
);

test("there are never more retries than answers and the reserve, and the reserve is all that can be saved up", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("answer", "failure"), { maxLength: 1_000 }), (outcomes) => {
      const budget = aBudget();
      let answers = 0;
      let retries = 0;
      for (const outcome of outcomes) {
        if (outcome === "answer") {
          budget.answered();
          answers++;
        } else if (budget.take()) retries++;
        expect(retries).toBeLessThanOrEqual(answers + RESERVE);
      }
      let saved = 0;
      while (budget.take()) saved++;
      expect(saved).toBeLessThanOrEqual(RESERVE);
      expect(saved).toBeGreaterThanOrEqual(Math.min(RESERVE, answers - retries));
    }),
  );
});

test("before the first answer only a few are repeated, and the whole reserve is there with it", () => {
  const budget = aBudget();
  let retries = 0;
  while (budget.take()) retries++;
  expect(retries).toBe(UNANSWERED);
  budget.answered();
  while (budget.take()) retries++;
  expect(retries).toBe(RESERVE + 1);
});
