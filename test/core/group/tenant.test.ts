import fc from "fast-check";
import { expect, it } from "vitest";
import { compareIds } from "../../../src/core/group/tenant.ts";
import { anyText } from "../../builders/arbitraries.ts";
import { rounds } from "../../support/long.ts";

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

it("orders any two texts by their UTF-8 bytes", () => {
  const common = anyText({ maxLength: 3 });
  fc.assert(
    fc.property(common, anyText(), anyText(), (prefix, a, b) => {
      expect(Math.sign(compareIds(prefix + a, prefix + b))).toBe(byBytes(prefix + a, prefix + b));
    }),
    { numRuns: rounds(7_000) },
  );
});

it("puts what UTF-16 writes as a pair above U+FFFF", () => {
  expect(compareIds("\uffff", "\u{10000}")).toBeLessThan(0);
  expect("\uffff" < "\u{10000}").toBe(false);
});
