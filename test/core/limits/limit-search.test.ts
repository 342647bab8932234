import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  beginSearch,
  isFound,
  type LimitSearch,
  raised,
  refuted,
  type SearchScale,
} from "../../../src/core/limits/limit-search.ts";

const RATE: SearchScale = {
  ceiling: 1_000,
  tolerance: (rate) => 0.03 * rate,
  step: (rate) => 0.05 * rate,
  round: (rate) => rate,
};
const COUNT: SearchScale = { ceiling: 1_000, tolerance: () => 1, step: () => 1, round: Math.ceil };

/** Tries what the search says against a service that takes so much. */
const tried = (search: LimitSearch, scale: SearchScale, limit: number): LimitSearch =>
  search.value <= limit ? raised(search, scale) : refuted(search, search.passed);

describe.each([
  ["a rate", RATE, fc.double({ min: 1, max: 2_000, noNaN: true })],
  ["a count", COUNT, fc.integer({ min: 1, max: 2_000 })],
])("%s", (_, scale, limits) => {
  it("is found within a few dozen trials, and never far exceeded", () => {
    fc.assert(
      fc.property(limits, (limit) => {
        let search = beginSearch(1, 1);
        for (let trial = 0; !isFound(search, scale); trial++) {
          expect(trial).toBeLessThan(40);
          expect(search.value).toBeLessThanOrEqual(2 * limit + 1);
          search = tried(search, scale, limit);
        }
        const most = Math.min(limit, scale.ceiling);
        expect(search.value).toBeLessThanOrEqual(most);
        expect(most - search.value).toBeLessThanOrEqual(scale.tolerance(search.value));
      }),
    );
  });

  it("is found again wherever it goes", () => {
    fc.assert(
      fc.property(limits, limits, (before, after) => {
        let search = beginSearch(1, 1);
        while (!isFound(search, scale)) search = tried(search, scale, before);
        for (let trial = 0; trial < 400; trial++) {
          // What was taken to pass is refused: a measurement tells what passes instead.
          const isWrong = search.value > after && search.value === search.passed;
          search = isWrong
            ? refuted(search, Math.max(1, scale.round(0.9 * after)))
            : tried(search, scale, after);
        }
        expect(search.passed).toBeLessThanOrEqual(Math.min(after, scale.ceiling));
        expect(search.passed).toBeGreaterThanOrEqual(Math.min(scale.ceiling, after) * 0.95 - 1);
      }),
    );
  });

  it("keeps passed ≤ value ≤ ceiling and value < refused, whatever is said of it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.double({ min: 0.1, max: 0.99, noNaN: true })), { maxLength: 60 }),
        (said) => {
          let search = beginSearch(1, 1);
          for (const share of said) {
            const lower = Math.max(1, scale.round((share ?? 0) * search.value));
            if (share === null) search = raised(search, scale);
            else if (lower < search.value) search = refuted(search, lower);
            expect(search.passed).toBeLessThanOrEqual(search.value);
            expect(search.value).toBeLessThanOrEqual(scale.ceiling);
            expect(search.value).toBeLessThan(search.refused);
          }
        },
      ),
    );
  });
});

it("counts the attempts to go beyond a limit in a row, until one passes", () => {
  let search = beginSearch(4, 1);
  for (let attempt = 1; attempt <= 3; attempt++) {
    search = refuted(raised(search, COUNT), 4);
    expect(search).toMatchObject({ value: 4, refused: 5, failures: attempt });
  }
  search = raised(raised(search, COUNT), COUNT);
  expect(search).toMatchObject({ value: 7, passed: 5, failures: 0 });
});
