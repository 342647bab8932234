import { expect, test } from "vitest";
import { check as runChecks } from "../../src/commands/check.ts";
import { type Finding, failure, ok, warning } from "../../src/core/report/finding.ts";
import type { Check } from "../../src/engine/check/check.ts";
import { VirtualClock, VirtualTime } from "../fakes/virtual-time.ts";
import { anIo, type Printed } from "./an-io.ts";

const aCheck = (title: string, ...findings: Finding[]): Check => ({
  title,
  remedy: "try again",
  async *run() {
    yield* findings;
  },
});

async function check(checks: readonly Check[], json = false): Promise<Printed> {
  const { io, printed } = anIo();
  const clock = new VirtualClock(new VirtualTime());
  await runChecks({ checks, clock, limitMs: 1_000 }, { json }, io);
  return printed;
}

const LEDGER = aCheck("ledger", ok("the tables are there"));
const HTTP = aCheck("http", { ...warning("slow", "look at it"), code: "SLOW" });
const TOKENS = aCheck("tokens", failure("no right\u001b[2J", "GRANT it"), ok("there"));

test("prints every finding with its remedy, in the order of the checks", async () => {
  expect(await check([LEDGER, HTTP, TOKENS])).toEqual({
    code: 1,
    stdout: `\
✓ ledger  the tables are there
! http    SLOW: slow
          look at it
✗ tokens  no right\\u001b[2J
          GRANT it
✓ tokens  there
Found 1 problem and 1 warning.
`,
    stderr: "",
  });
});

test("counts one missing right as one problem, however many checks meet it", async () => {
  const denied = { ...failure("permission denied", "GRANT SELECT ON customers"), code: "SOURCE_UNAVAILABLE" };
  const slow = failure("the check did not end", "it answers too slowly");
  const { stdout } = await check([aCheck("source", denied, slow), aCheck("changes", denied, slow)]);
  expect(stdout).toMatch(/\nFound 3 problems\.\n$/);
});

test("exits with 0 unless something has failed", async () => {
  expect(await check([LEDGER])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nEverything that a sync needs is there\.\n$/),
  });
  expect(await check([LEDGER, HTTP])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nEverything that a sync needs is there, with 1 warning\.\n$/),
  });
});

test("told to stop, it says so and not that all is well", async () => {
  const stopping = new AbortController();
  const { io, printed } = anIo();
  const stops: Check = {
    title: "slow",
    remedy: "wait",
    async *run() {
      stopping.abort();
      yield ok("so far");
    },
  };
  const setup = { checks: [stops], clock: new VirtualClock(new VirtualTime()), limitMs: 1_000 };
  const ended = runChecks(setup, { json: false }, { ...io, stop: stopping.signal });
  await expect(ended).rejects.toMatchObject({ code: "INTERRUPTED" });
  expect(printed.stdout).toBe("");
});

test("--json prints one object", async () => {
  const { stdout, code } = await check([HTTP, TOKENS], true);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    ok: false,
    checks: [
      { name: "http", findings: [{ level: "warning", code: "SLOW", message: "slow", hint: "look at it" }] },
      {
        name: "tokens",
        findings: [
          { level: "failure", code: null, message: "no right\u001b[2J", hint: "GRANT it" },
          { level: "ok", code: null, message: "there", hint: null },
        ],
      },
    ],
  });
});
