import { describe, expect, test } from "vitest";
import { type Deferral, OutageDetector } from "../../../src/core/limits/outage-detector.ts";

const MINUTE = 60_000;
const START = Date.parse("2026-03-01T00:00:00Z");
const aDeferral = (overrides: Partial<Deferral> = {}): Deferral => {
  const { now = 0 } = overrides;
  return { group: "a", now, at: new Date(START + now), askedMs: 0, hasAnswered: true, ...overrides };
};

function afterRefusals(...deferrals: Partial<Deferral>[]): OutageDetector {
  const detector = new OutageDetector();
  for (const deferral of deferrals) detector.refused(aDeferral(deferral));
  return detector;
}

describe("an outage is long", () => {
  test.each<[string, Partial<Deferral>[], boolean]>([
    ["not after ten minutes of refusals", [{}, { now: 10 * MINUTE }], false],
    ["after more than ten minutes of refusals", [{}, { now: 10 * MINUTE + 1 }], true],
    ["not if a long pause is asked for after an answer", [{ askedMs: 30 * MINUTE }], false],
    ["if a long pause is asked for before any answer", [{ askedMs: 30 * MINUTE, hasAnswered: false }], true],
    ["not if the pause ends within 11 minutes", [{ askedMs: 11 * MINUTE, hasAnswered: false }], false],
    [
      "if a pause was in vain and another is asked for",
      [{ askedMs: MINUTE }, { now: MINUTE, askedMs: 11 * MINUTE }],
      true,
    ],
    [
      "not while calls are refused during the first pause",
      [{ askedMs: MINUTE }, { now: 1, askedMs: 30 * MINUTE }],
      false,
    ],
  ])("%s", (_, deferrals, isLong) => {
    expect(afterRefusals(...deferrals).isLong).toBe(isLong);
  });

  test("until a call passes", () => {
    const detector = afterRefusals({}, { now: 11 * MINUTE });
    detector.end();
    expect(detector.isLong).toBe(false);
    detector.refused(aDeferral({ now: 12 * MINUTE }));
    expect(detector.isLong).toBe(false);
  });
});

describe("an outage is general", () => {
  test.each<[string, Partial<Deferral>[], boolean]>([
    ["not if one group is refused again", [{}, { now: 1 }], false],
    ["if two groups are refused", [{}, { now: 1, group: "b" }], true],
    ["if the pause is too long to try another group", [{ askedMs: 11 * MINUTE }], true],
  ])("%s", (_, deferrals, isGeneral) => {
    expect(afterRefusals(...deferrals).isGeneral).toBe(isGeneral);
  });
});

test.each<[string, Partial<Deferral>, Date | undefined]>([
  [
    "the end of a pause that is too long for a run",
    { askedMs: 30 * MINUTE, hasAnswered: false },
    new Date(START + 30 * MINUTE),
  ],
  ["nothing for a pause that a run waits for", { askedMs: 30 * MINUTE }, undefined],
  ["nothing if no pause is asked for", {}, undefined],
])("the service is to be called again at %s", (_, deferral, askAgainAt) => {
  expect(afterRefusals(deferral).askAgainAt).toEqual(askAgainAt);
});
