import { expect, it } from "vitest";
import { parseRateLimit, parseWindow } from "../../../src/core/limits/rate-limit.ts";

it.each([
  ["3/s", { count: 3, perMs: 1000 }],
  ["170/min", { count: 170, perMs: 60_000 }],
  ["9000/h", { count: 9000, perMs: 3_600_000 }],
])("%s is a rate", (text, rate) => {
  expect(parseRateLimit(text)).toEqual(rate);
  expect(parseWindow(text)).toEqual(rate);
});

it("180/10s is a window, and no rate that the config takes", () => {
  expect(parseWindow("180/10s")).toEqual({ count: 180, perMs: 10_000 });
  expect(parseRateLimit("180/10s")).toBeUndefined();
});

it.each(["", "170", "0/s", "170/m", "1.5/s", "5/0s", "5/1.5s", "170 / min", "/s"])(
  "%j is neither",
  (text) => {
    expect(parseRateLimit(text)).toBeUndefined();
    expect(parseWindow(text)).toBeUndefined();
  },
);
