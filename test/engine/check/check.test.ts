import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { ok } from "../../../src/core/report/finding.ts";
import { type Check, type CheckResult, runChecks } from "../../../src/engine/check/check.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const LIMIT = 10_000;

async function run(...checks: Check[]): Promise<CheckResult[]> {
  const limits = {
    clock: new VirtualClock(new VirtualTime()),
    limitMs: LIMIT,
    stop: new AbortController().signal,
  };
  const results: CheckResult[] = [];
  for await (const result of runChecks(checks, limits)) results.push(result);
  return results;
}

const well: Check = {
  title: "well",
  remedy: "read the docs",
  async *run() {
    yield ok("it is there");
  },
};

test("a check that throws is a failure after what it has found, and hides no other check", async () => {
  const broken: Check = {
    title: "broken",
    remedy: "read the docs",
    async *run() {
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
  expect(await run(broken, well)).toEqual([
    { title: "broken", findings: [ok("so far so good"), error] },
    { title: "well", findings: [ok("it is there")] },
  ]);
});

test("the check's remedy stands below an error that has none of its own", async () => {
  const broken: Check = {
    title: "broken",
    remedy: "read the docs",
    // biome-ignore lint/correctness/useYield: it fails at once
    async *run() {
      throw new SyncError("LEDGER_UNAVAILABLE", "no such host");
    },
  };
  const [result] = await run(broken);
  expect(result?.findings).toMatchObject([{ message: "no such host", hint: "read the docs" }]);
});

test("a check that doesn't end is told to stop and keeps what it has found; those after it go on", async () => {
  let stopped = false;
  const silent: Check = {
    title: "silent",
    remedy: "read the docs",
    async *run(stop) {
      yield ok("connected");
      await new Promise((_, reject) => {
        stop.addEventListener("abort", () => {
          stopped = true;
          reject(new SyncError("INTERRUPTED", "told to stop"));
        });
      });
    },
  };
  const [first, second] = await run(silent, well);
  expect(first?.findings).toEqual([
    ok("connected"),
    { level: "failure", message: "the check did not end within 10 s", hint: "read the docs" },
  ]);
  expect(second?.findings).toEqual([ok("it is there")]);
  expect(stopped).toBe(true);
});
