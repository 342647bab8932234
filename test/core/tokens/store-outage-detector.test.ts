import { expect, test } from "vitest";
import { StoreOutageDetector } from "../../../src/core/tokens/store-outage-detector.ts";

const refusalOf = (id: string, reason = "permission denied"): { code: string; message: string } => ({
  code: "TOKEN_NOT_STORED",
  message: `secret ${id} in 17 ms: ${reason}`,
});
const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `tenant-${n}`);
const refuseAll = (detector: StoreOutageDetector, refused: readonly string[], reason?: string) =>
  refused.map((id) => detector.refused(id, refusalOf(id, reason))?.code);

test("ten tokens refused for the same reason end the run, if none was stored", () => {
  const codes = refuseAll(new StoreOutageDetector(), ids(10));
  expect(codes).toEqual([...Array(9).fill(undefined), "TOKEN_STORE_UNAVAILABLE"]);
});

test("the same token, refused again and again, counts once", () => {
  expect(refuseAll(new StoreOutageDetector(), Array(30).fill("tenant-1"))).toEqual(Array(30).fill(undefined));
});

test("different reasons are counted apart", () => {
  const detector = new StoreOutageDetector();
  expect(refuseAll(detector, ids(9))).not.toContain("TOKEN_STORE_UNAVAILABLE");
  expect(refuseAll(detector, ids(9), "name too long")).not.toContain("TOKEN_STORE_UNAVAILABLE");
});

test("a store that takes one token is not down", () => {
  const detector = new StoreOutageDetector();
  detector.stored();
  expect(refuseAll(detector, ids(30))).toEqual(Array(30).fill(undefined));
});
