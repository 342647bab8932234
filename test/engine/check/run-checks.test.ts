import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { ok } from "../../../src/core/report/finding.ts";
import { startChecks } from "../../../src/engine/check/run-checks.ts";
import type { Check } from "../../../src/ports/check.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const LIMIT = 10_000;

const run = (...lists: Check[][]) =>
  Promise.all(
    startChecks(lists, {
      clock: new VirtualClock(new VirtualTime()),
      limitMs: LIMIT,
      stop: new AbortController().signal,
    }),
  );

const well: Check = {
  name: "well",
  async *find() {
    yield ok("it is there");
  },
};

test("a check that throws is a failure after what it has found, and hides no other check", async () => {
  const broken: Check = {
    name: "broken",
    async *find() {
      yield ok("so far so good");
      throw new SyncError("LEDGER_UNAVAILABLE", "no such host", { hint: "check ledger.url" });
    },
  };
  const error = {
    level: "failure",
    code: "LEDGER_UNAVAILABLE",
    message: "no such host",
    hint: "check ledger.url",
  };
  expect(await run([broken], [well])).toEqual([
    { name: "broken", findings: [ok("so far so good"), error] },
    { name: "well", findings: [ok("it is there")] },
  ]);
});

test("a check that doesn't end is told to stop and keeps what it has found; those after it go on", async () => {
  let stopped = false;
  const silent: Check = {
    name: "silent",
    async *find(stop) {
      yield ok("connected");
      await new Promise((_, reject) => {
        stop.addEventListener("abort", () => {
          stopped = true;
          reject(new SyncError("INTERRUPTED", "told to stop"));
        });
      });
    },
  };
  const [first, second] = await run([silent, well]);
  expect(first?.findings).toEqual([
    ok("connected"),
    expect.objectContaining({ level: "failure", message: "the check did not end within 10 s" }),
  ]);
  expect(second?.findings).toEqual([ok("it is there")]);
  expect(stopped).toBe(true);
});

test("a check of a list begins after the one before it, and at the same time as other lists", async () => {
  const order: string[] = [];
  const check = (name: string): Check => ({
    name,
    async *find() {
      order.push(`${name} begins`);
      await Promise.resolve();
      order.push(`${name} ends`);
      yield ok(name);
    },
  });
  await run([check("a"), check("b")], [check("other")]);
  expect(order).toEqual(["a begins", "other begins", "a ends", "other ends", "b begins", "b ends"]);
});
