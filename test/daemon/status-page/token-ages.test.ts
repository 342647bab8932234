import { expect, test } from "vitest";
import type { LedgerSnapshot } from "../../../src/daemon/state/state.ts";
import { aHealthyDaemon, aHealthySnapshot, tokenAges } from "../a-healthy-daemon.ts";
import { pageOf, readOf, textOf } from "./shown-page.ts";

test("the ages of the tokens are a histogram", () => {
  const page = pageOf(
    aHealthyDaemon({ ledger: aHealthySnapshot({ tokenAges: tokenAges(50, 12_000, 0, 1) }) }),
  );
  expect(textOf(page)).toContain("under 7 days 50 7 to 30 days 12 000 30 to 60 days 0 60 days and more 1");
  const widths = [...page.matchAll(/<rect width="([\d.]+)%"/g)].map(([, width]) => Number(width));
  expect(widths).toEqual([0.5, 100, 0, 0.5]);
});

const DAY = 86_400_000;

test.each<[LedgerSnapshot["tooOld"], string]>([
  [null, "The oldest token is 86 days old. There is no rotation.max_age ."],
  [{ maxAgeMs: 90 * DAY, tokens: 0 }, "rotation.max_age is 90 days: no token is older."],
  [{ maxAgeMs: DAY / 2, tokens: 1 }, "rotation.max_age is 12 h: 1 token is older ."],
  [{ maxAgeMs: 60 * DAY, tokens: 12_000 }, "rotation.max_age is 60 days: 12 000 tokens are older ."],
])("the ages of the tokens are compared with rotation.max_age (%#)", (tooOld, text) => {
  expect(readOf(aHealthyDaemon({ ledger: aHealthySnapshot({ tooOld }) }))).toContain(text);
});

test("the bars of tokens that are too old are marked", () => {
  const tooOld = { maxAgeMs: 30 * DAY, tokens: 4 };
  const page = pageOf(
    aHealthyDaemon({ ledger: aHealthySnapshot({ tokenAges: tokenAges(1, 2, 3, 1), tooOld }) }),
  );
  expect(
    [...page.matchAll(/<rect( class="too-old")? width=/g)].map(([, mark]) => mark !== undefined),
  ).toEqual([false, false, true, true]);
});
