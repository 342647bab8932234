import { expect, test } from "vitest";
import { WrongKeys } from "../../../src/daemon/http/wrong-keys.ts";

const BURST = 100;

/** Sends wrong keys, all at one moment. */
const send = (keys: WrongKeys, count: number, address: string, now: number): void => {
  for (let n = 0; n < count; n++) keys.add(address, now);
};

test("an address may send a hundred wrong keys at once, and is blocked for a moment after one more", () => {
  const keys = new WrongKeys();
  send(keys, BURST, "10.0.0.1", 0);
  expect(keys.blockedFor("10.0.0.1", 0)).toBe(0);
  send(keys, 1, "10.0.0.1", 0);
  expect(keys.blockedFor("10.0.0.1", 0)).toBeCloseTo(100);
  expect(keys.blockedFor("10.0.0.1", 99)).toBeGreaterThan(0);
  expect(keys.blockedFor("10.0.0.1", 101)).toBe(0);
});

test("an address that goes on with wrong keys tries no more than twenty a second", () => {
  const keys = new WrongKeys();
  let tried = 0;
  for (let now = 0; now < 60_000; now++) {
    if (keys.blockedFor("10.0.0.1", now) > 0) continue;
    keys.add("10.0.0.1", now);
    tried++;
  }
  // A key that finds the bucket empty has been tried too: at most twice as many.
  expect(tried).toBeLessThanOrEqual(BURST + 2 * 600);
});

test("another address isn't blocked", () => {
  const keys = new WrongKeys();
  send(keys, 2 * BURST, "10.0.0.1", 0);
  send(keys, 1, "10.0.0.2", 0);
  for (const address of ["10.0.0.2", "10.0.0.3"]) expect(keys.blockedFor(address, 0)).toBe(0);
});

test("of a thousand addresses and more, those are forgotten that have not sent a wrong key for longest", () => {
  const keys = new WrongKeys();
  send(keys, 2 * BURST, "first", 0);
  send(keys, 2 * BURST, "second", 0);
  for (let n = 0; n < 998; n++) keys.add(`other-${n}`, 0);
  expect(keys.blockedFor("first", 0)).toBeGreaterThan(0);
  keys.add("first", 0);
  keys.add("one more", 0);
  expect(keys.blockedFor("second", 0)).toBe(0);
  expect(keys.blockedFor("first", 0)).toBeGreaterThan(0);
});
