import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { runLog } from "../../../src/adapters/log/run-log.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { aRunSummary } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import { aClock } from "../../fakes/set-clock.ts";

function aLog(level = "debug", atEnd?: () => object) {
  const clock = aClock();
  const lines: Record<string, unknown>[] = [];
  const options = {
    level,
    base: null,
    timestamp: false,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger = pino(options, { write: (line: string) => lines.push(JSON.parse(line)) });
  return { clock, lines, observe: runLog(logger, clock, atEnd) };
}

const recorded: RunEvent = {
  kind: "recorded",
  user_group_id: "acme",
  result: "created",
  unverified: false,
  tokenFingerprint: "the-fingerprint",
};

const rotated: RunEvent = {
  kind: "rotated",
  user_group_id: "acme",
  tokenFingerprint: "the-fingerprint",
  formerTokenFingerprint: "the-former",
};

const unstored: RunEvent = {
  kind: "unstored",
  user_group_id: "acme",
  code: "TOKEN_NOT_STORED",
  message: "customers refused the token",
  hint: "look at the constraints",
  waitMs: 4_000,
};

describe("a run in the log", () => {
  test.each<[RunEvent, object]>([
    [
      { kind: "started", run: "17" },
      { level: "debug", run: "17" },
    ],
    [
      { kind: "phase", phase: "reading" },
      { level: "debug", phase: "reading", msg: "reads the source" },
    ],
    [
      { kind: "planned", changes: 3, unchanged: 4, missing: 1 },
      {
        level: "debug",
        changes: 3,
        unchanged: 4,
        missing: 1,
        msg: "3 changes to make, 4 groups unchanged",
      },
    ],
    [
      { kind: "rotating", tokens: 2 },
      { level: "info", tokens: 2, msg: "2 tokens to rotate" },
    ],
    [
      { kind: "warning", code: "LEDGER_EMPTY", message: "it is empty", hint: "look" },
      { level: "warn", code: "LEDGER_EMPTY", hint: "look", msg: "it is empty" },
    ],
    [
      {
        kind: "rejected",
        rejection: aRejection({
          user_group_id: null,
          code: "ID_NULL",
          message: "column id is null",
          rows: 3,
        }),
      },
      { level: "warn", user_group_id: null, code: "ID_NULL", rows: 3, msg: "rejected: column id is null" },
    ],
    [
      { kind: "rejected", rejection: aRejection() },
      {
        level: "warn",
        user_group_id: "acme",
        code: "VALUE_NULL",
        msg: "rejected: name (column name) is null",
      },
    ],
    [
      { kind: "accepted", rejection: { ...aRejection(), since: new Date("2026-03-01T00:00:00Z") } },
      {
        level: "info",
        user_group_id: "acme",
        code: "VALUE_NULL",
        since: "2026-03-01T00:00:00.000Z",
        msg: "no longer rejected; it was: name (column name) is null",
      },
    ],
    [
      {
        kind: "retry",
        user_group_id: "acme",
        code: "TIMEOUT",
        message: "no answer",
        attempt: 2,
        waitMs: 500,
      },
      {
        level: "debug",
        user_group_id: "acme",
        code: "TIMEOUT",
        attempt: 2,
        waitMs: 500,
        msg: "tries again: no answer",
      },
    ],
    [
      { kind: "waiting", ms: 7_000, reason: "the service asked to slow down" },
      { level: "info", ms: 7_000, msg: "waits up to 7.0 s: the service asked to slow down" },
    ],
    [
      {
        kind: "held",
        code: "DELETIONS_HELD",
        message: "5 deletions are held",
        hint: "look at the source first",
        count: 5,
        approval: "0123456789ab",
      },
      {
        level: "warn",
        code: "DELETIONS_HELD",
        count: 5,
        approval: "0123456789ab",
        hint: "look at the source first",
        msg: "5 deletions are held",
      },
    ],
    [
      { kind: "left", user_group_id: "acme", absence: "flagged" },
      {
        level: "info",
        user_group_id: "acme",
        absence: "flagged",
        msg: "its tenant's row was flagged as removed",
      },
    ],
    [
      { kind: "deleted", user_group_id: "acme", absence: "absent" },
      { level: "info", user_group_id: "acme", absence: "absent", msg: "deleted" },
    ],
    [
      rotated,
      {
        level: "info",
        user_group_id: "acme",
        token_fingerprint: "the-fingerprint",
        former_token_fingerprint: "the-former",
        msg: "rotated",
      },
    ],
    [
      unstored,
      {
        level: "error",
        user_group_id: "acme",
        code: "TOKEN_NOT_STORED",
        hint: "look at the constraints",
        waitMs: 4_000,
        msg: "its new token is not stored, and the old one is dead; tries again in 4.0 s: customers refused the token",
      },
    ],
    [
      { ...recorded, result: "replaced" },
      { level: "info", user_group_id: "acme", token_fingerprint: "the-fingerprint", msg: "replaced" },
    ],
    [
      recorded,
      { level: "debug", user_group_id: "acme", token_fingerprint: "the-fingerprint", msg: "created" },
    ],
    [
      { kind: "failed", user_group_id: "acme", code: "REFUSED", message: "no" },
      { level: "warn", user_group_id: "acme", code: "REFUSED", msg: "failed: no" },
    ],
  ])("%j", (event, line) => {
    const { lines, observe } = aLog();
    observe(event);
    expect(lines).toEqual([expect.objectContaining(line)]);
    expect(lines[0]).not.toHaveProperty("message");
  });

  test("every line carries its run, from the start on", () => {
    const { lines, observe } = aLog("info");
    observe({ kind: "started", run: "17" });
    observe({ kind: "waiting", ms: 1, reason: "x" });
    observe({ kind: "started", run: "18" });
    observe({ kind: "waiting", ms: 1, reason: "x" });
    expect(lines.map(({ run }) => run)).toEqual(["17", "18"]);
  });

  test.each<[string, RunEvent]>([
    ["recorded", recorded],
    ["deleted", { kind: "deleted", user_group_id: "acme", absence: "absent" }],
    ["rotated", rotated],
    ["failed", { kind: "failed", user_group_id: "acme", code: "REFUSED", message: "no" }],
  ])("counts a group that is %s", (_, event) => {
    const { clock, lines, observe } = aLog("info");
    observe({ kind: "planned", changes: 4, unchanged: 0, missing: 0 });
    clock.elapsed = 10_000;
    observe(event);
    expect(lines.at(-1)).toMatchObject({ done: 1, total: 4 });
  });

  test("doesn't count a group whose new token still waits to be stored", () => {
    const { clock, lines, observe } = aLog("info");
    observe({ kind: "planned", changes: 4, unchanged: 0, missing: 0 });
    clock.elapsed = 10_000;
    observe(unstored);
    expect(lines.map((line) => line.done)).toEqual([undefined]);
  });

  test("tells every ten seconds how far it is", () => {
    const { clock, lines, observe } = aLog("info");
    observe({ kind: "planned", changes: 90, unchanged: 0, missing: 0 });
    observe({ kind: "rotating", tokens: 10 });
    for (let index = 0; index < 50; index++) {
      clock.elapsed += 500;
      observe(recorded);
    }
    expect(lines.slice(1)).toEqual([
      { level: "info", done: 20, total: 100, per_second: 2, msg: "20 of 100 groups, 120/min, 40 s left" },
      { level: "info", done: 40, total: 100, per_second: 2, msg: "40 of 100 groups, 120/min, 30 s left" },
    ]);
  });
});

describe("a run that has ended", () => {
  const finished = (overrides: Parameters<typeof aRunSummary>[0] = {}): RunEvent => ({
    kind: "finished",
    ...aRunSummary({ durationMs: 405.4, ...overrides }),
  });
  const failed = (code: string): RunEvent =>
    finished({ outcome: "failed", error: { code, message: "it says why", hint: "what to do" } });

  test("has one line that says it all", () => {
    const { lines, observe } = aLog("info", () => ({ next: new Date("2026-03-01T12:05:00Z") }));
    observe({ kind: "started", run: "17" });
    observe(finished({ counts: { ...noCounts(), created: 2, unchanged: 390 }, requests: 2 }));
    expect(lines).toEqual([
      {
        level: "info",
        run: "17",
        command: "sync",
        outcome: "ok",
        ...noCounts(),
        created: 2,
        unchanged: 390,
        requests: 2,
        duration_ms: 405,
        next: "2026-03-01T12:05:00.000Z",
        msg: "sync ok: 2 created, 390 unchanged; 2 requests in 405 ms",
      },
    ]);
  });

  test("says why it failed, and what to do", () => {
    const { lines, observe } = aLog("info");
    observe(failed("LEDGER_UNAVAILABLE"));
    expect(lines).toEqual([
      expect.objectContaining({
        outcome: "failed",
        code: "LEDGER_UNAVAILABLE",
        hint: "what to do",
        msg: "sync failed: it says why (1 unchanged; 0 requests in 405 ms)",
      }),
    ]);
  });

  test.each<[string, RunEvent, string]>([
    ["ok", finished(), "info"],
    ["partial", finished({ outcome: "partial" }), "warn"],
    ["held", finished({ outcome: "held" }), "warn"],
    ["failed", failed("LEDGER_UNAVAILABLE"), "error"],
    ["interrupted", failed("INTERRUPTED"), "info"],
    ["not begun, for somebody else is at work", failed("LEASE_HELD"), "info"],
  ])("and is %s", (_, event, level) => {
    const { lines, observe } = aLog();
    observe(event);
    expect(lines).toEqual([expect.objectContaining({ level })]);
  });

  test("in standby again and again is told once", () => {
    const { lines, observe } = aLog();
    for (const code of ["LEASE_HELD", "LEASE_HELD", "LEDGER_UNAVAILABLE", "LEASE_HELD"])
      observe(failed(code));
    expect(lines.map(({ level }) => level)).toEqual(["info", "debug", "error", "info"]);
  });

  test("that makes room for a command is told each time, and the wait for that command is not", () => {
    const { lines, observe } = aLog();
    for (const code of ["LEASE_HANDED_OVER", "LEASE_HELD", "LEASE_HELD", "LEASE_HANDED_OVER", "LEASE_HELD"])
      observe(failed(code));
    expect(lines.map(({ level }) => level)).toEqual(["info", "debug", "debug", "info", "debug"]);
  });

  test("leaves its id to no line that comes after it", () => {
    const { lines, observe } = aLog("info");
    observe({ kind: "started", run: "17" });
    observe(finished());
    observe(failed("CONFIG_INVALID"));
    expect(lines.map(({ run }) => run)).toEqual(["17", undefined]);
  });

  test("leaves its progress to no run that comes after it", () => {
    const { clock, lines, observe } = aLog("info");
    observe({ kind: "started", run: "17" });
    observe({ kind: "planned", changes: 3, unchanged: 0, missing: 0 });
    observe(recorded);
    observe(finished());
    observe({ kind: "started", run: "18" });
    observe({ kind: "rotating", tokens: 4 });
    clock.elapsed = 10_000;
    observe(rotated);
    expect(lines.at(-1)).toMatchObject({ run: "18", done: 1, total: 4 });
  });
});
