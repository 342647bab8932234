import { expect, test } from "vitest";
import { aHealthyDaemon, aHealthySnapshot, tokenAges } from "../a-healthy-daemon.ts";
import { pageOf, textOf } from "./shown-page.ts";

test("the ages of the tokens are a histogram", () => {
  const page = pageOf(
    aHealthyDaemon({ ledger: aHealthySnapshot({ tokenAges: tokenAges(50, 12_000, 0, 1) }) }),
  );
  expect(textOf(page)).toContain("under 7 days 50 7 to 30 days 12 000 30 to 60 days 0 60 days and more 1");
  const widths = [...page.matchAll(/<rect width="([\d.]+)%"/g)].map(([, width]) => Number(width));
  expect(widths).toEqual([0.5, 100, 0, 0.5]);
});
