import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { runLog } from "../../../src/adapters/log/run-log.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { aRunSummary } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import { anUnstored, aPlanned, aRecorded, aRotated } from "../../builders/run-events.ts";
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

const recorded = aRecorded();
const unstored = anUnstored();

const drifted = (drift: "token" | "gone" | "name"): RunEvent => ({
  kind: "drift",
  user_group_id: "acme",
  drift,
  tokenFingerprint: "the-fingerprint",
  formerTokenFingerprint: "the-former",
  name: "Acme",
});

describe("a run in the log", () => {
  test.each([
    ["token", undefined],
    ["gone", undefined],
    ["name", "Acme"],
  ] as const)("has the service's name for a group only if that is the drift: %s", (drift, name) => {
    const { lines, observe } = aLog();
    observe(drifted(drift));
    expect(lines).toEqual([expect.objectContaining({ user_group_id: "acme", drift })]);
    expect(lines[0]?.name).toBe(name);
  });

  test.each<[RunEvent, object]>([
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
      { kind: "waiting", ms: 6_999.6, reason: "the service asked to slow down" },
      { level: "info", ms: 7_000, msg: "waits up to 7.0 s: the service asked to slow down" },
    ],
    [
      aRotated(),
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
        wait_ms: 4_000,
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
  ])("%j", (event, line) => {
    const { lines, observe } = aLog();
    observe(event);
    expect(lines).toEqual([expect.objectContaining(line)]);
    expect(lines[0]).not.toHaveProperty("message");
    expect(lines[0]).not.toHaveProperty("reason");
  });

  test("only rows without an id are counted", () => {
    const { lines, observe } = aLog();
    observe({ kind: "rejected", rejection: aRejection() });
    observe({ kind: "accepted", rejection: { ...aRejection(), since: new Date() } });
    expect(lines.filter((line) => "rows" in line)).toEqual([]);
    expect(lines).toHaveLength(2);
  });

  test("every line carries its run, from the start on", () => {
    const { lines, observe } = aLog("info");
    observe({ kind: "started", run: "17" });
    observe({ kind: "waiting", ms: 1, reason: "x" });
    observe({ kind: "started", run: "18" });
    observe({ kind: "waiting", ms: 1, reason: "x" });
    expect(lines.map(({ run }) => run)).toEqual(["17", "18"]);
  });

  test("tells every ten seconds how far it is", () => {
    const { clock, lines, observe } = aLog("info");
    observe(aPlanned(90));
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

  test("tells nothing of the work of the run before", () => {
    const { clock, lines, observe } = aLog("info");
    observe(aPlanned(1));
    observe(recorded);
    clock.elapsed += 60_000;
    observe({ kind: "started", run: "18" });
    expect(lines).toEqual([]);
  });
});

const failed = (user_group_id: string, code = "REFUSED"): RunEvent => ({
  kind: "failed",
  user_group_id,
  code,
  message: "no",
});
const ended: RunEvent = { kind: "finished", ...aRunSummary() };
const many = Array.from({ length: 13 }, (_, index) => `t-${index}`);

describe("lines that are alike", () => {
  const failing = { kind: "failed", code: "REFUSED", message: "no" } as const;
  const conflict = { kind: "conflict", outcome: "rejected", code: "VALUE_NULL", message: "no" } as const;

  test.each<[string, (id: string) => RunEvent, object]>([
    ["failed", (id) => failed(id), { level: "warn", code: "REFUSED", msg: /^failed \(REFUSED\): / }],
    [
      "rejected",
      (id) => ({ kind: "rejected", rejection: aRejection({ user_group_id: id }) }),
      { level: "warn", code: "VALUE_NULL", msg: /^rejected \(VALUE_NULL\): / },
    ],
    [
      "gone",
      (id) => ({ kind: "left", user_group_id: id, absence: "absent" }),
      { level: "info", absence: "absent", msg: /^its tenant is gone: / },
    ],
    [
      "waits",
      (id) => ({ kind: "waiting", ms: 3_000, reason: `the service allows about 17${id.length}/min` }),
      { level: "info", msg: /^waits: the service allows about …\/min: / },
    ],
    [
      "served alone, and failed",
      (id) => ({ kind: "served", user_group_id: id, served: failing, ms: 5 }),
      { level: "warn", code: "REFUSED", msg: /^served alone, failed \(REFUSED\): / },
    ],
    [
      "served alone",
      (id) => ({ kind: "served", user_group_id: id, served: { kind: "done", outcome: "created" }, ms: 5 }),
      { level: "info", msg: /^served alone, created: / },
    ],
    [
      "unsettled",
      (id) => ({ kind: "warning", code: "UNSETTLED", message: `of ${id}`, hint: "x" }),
      { level: "warn", code: "UNSETTLED", msg: /^UNSETTLED: / },
    ],
  ])("%s: ten in full, and one with the total", (_, event, sum) => {
    const { lines, observe } = aLog("info");
    observe({ kind: "started", run: "17" });
    for (const id of many) observe(event(id));
    expect(lines.splice(0)).toHaveLength(10);
    observe(ended);
    const { msg, ...fields } = sum as { msg: RegExp };
    const total = expect.stringMatching(new RegExp(`${msg.source}13 in all`));
    expect(lines).toMatchObject([{ ...fields, run: "17", count: 13, msg: total }, { outcome: "ok" }]);
    expect(lines[0]).not.toHaveProperty("user_group_id");
  });

  test.each<[string, (id: string) => RunEvent]>([
    ["drift", (user_group_id) => ({ ...drifted("token"), user_group_id }) as RunEvent],
    ["a tenant that is locked out", (user_group_id) => anUnstored(user_group_id)],
    [
      "a group that an operator has to remove",
      (id) => ({ kind: "warning", code: "GROUP_LEFT_BEHIND", message: `group ${id}`, hint: "by hand" }),
    ],
  ])("%s: the log is the record of each, so none is only counted", (_, event) => {
    const { lines, observe } = aLog("info");
    for (const id of many) observe(event(id));
    expect(lines).toHaveLength(many.length);
    observe(ended);
    expect(lines).toHaveLength(many.length + 1);
  });

  test("differ in code and kind, and are counted for each run", () => {
    const { lines, observe } = aLog("info");
    const tenth = many.slice(0, 10);
    observe({ kind: "started", run: "17" });
    for (const id of tenth) observe(failed(id));
    for (const id of tenth) observe(failed(id, "TIMEOUT"));
    for (const user_group_id of tenth) observe({ kind: "served", user_group_id, served: failing, ms: 5 });
    observe(ended);
    for (const user_group_id of tenth) observe({ kind: "served", user_group_id, served: failing, ms: 5 });
    observe({ kind: "started", run: "18" });
    for (const id of tenth) observe(failed(id));
    expect(lines.filter(({ user_group_id }) => user_group_id !== undefined)).toHaveLength(50);
    expect(lines).toHaveLength(51);
  });

  test("between two runs are summed up when the next begins", () => {
    const { lines, observe } = aLog("info");
    for (const user_group_id of many) observe({ kind: "served", user_group_id, served: failing, ms: 5 });
    observe({ kind: "started", run: "18" });
    expect(lines.at(-1)).toMatchObject({ count: 13 });
    expect(lines.at(-1)).not.toHaveProperty("run");
  });

  test("a tenant that waits for its next try has failed already: only a log of level debug tells it", () => {
    const { lines, observe } = aLog("info");
    const waiting = { ...conflict, outcome: "waiting" } as const;
    for (const user_group_id of many) observe({ kind: "served", user_group_id, served: waiting, ms: 5 });
    expect(lines).toEqual([]);
  });

  test("are all in a log of level debug", () => {
    const { lines, observe } = aLog("debug");
    for (const id of many) observe(failed(id));
    observe(ended);
    expect(lines).toHaveLength(many.length + 1);
  });

  test("a row without an id, counted by the reader, has its line", () => {
    const { lines, observe } = aLog("info");
    for (const id of many)
      observe({ kind: "rejected", rejection: aRejection({ user_group_id: null, message: id, rows: 3 }) });
    expect(lines).toHaveLength(many.length);
  });

  test("a token that is tried again is told once of each tenant", () => {
    const { lines, observe } = aLog("info");
    for (const user_group_id of ["acme", "acme", "globex", "acme"]) observe(anUnstored(user_group_id));
    expect(lines.map(({ user_group_id }) => user_group_id)).toEqual(["acme", "globex"]);
  });
});

test("a warning of a setting is told once a process, and that of another setting too", () => {
  const { lines, observe } = aLog("info");
  const warning = { kind: "warning", code: "COMMITS_AT_RISK", hint: "set it", isStanding: true } as const;
  for (const run of ["17", "18"]) {
    observe({ kind: "started", run });
    for (const message of ["fsync = off", "full_page_writes = off"]) observe({ ...warning, message });
    observe({ kind: "warning", code: "LEDGER_EMPTY", message: "it is empty" });
    observe(ended);
  }
  expect(lines.flatMap(({ level, msg }) => (level === "warn" ? [msg] : []))).toEqual([
    "fsync = off",
    "full_page_writes = off",
    "it is empty",
    "it is empty",
  ]);
  expect(lines[0]).not.toHaveProperty("isStanding");
});

describe("a run that has ended", () => {
  const finished = (overrides: Parameters<typeof aRunSummary>[0] = {}): RunEvent => ({
    kind: "finished",
    ...aRunSummary({ durationMs: 405.4, ...overrides }),
  });
  const failedRun = (code: string): RunEvent =>
    finished({ outcome: "failed", error: { code, message: "it says why", hint: "what to do" } });

  test("has one line that says it all", () => {
    const { lines, observe } = aLog("info", () => ({ next: new Date("2026-03-01T12:05:00Z") }));
    observe({ kind: "started", run: "17" });
    observe(
      finished({ counts: { ...noCounts(), created: 2, drift: { token: 0, gone: 1, name: 0 } }, requests: 2 }),
    );
    expect(lines).toEqual([
      {
        level: "info",
        run: "17",
        command: "sync",
        outcome: "ok",
        created: 2,
        drift: { gone: 1 },
        requests: 2,
        duration_ms: 405,
        next: "2026-03-01T12:05:00.000Z",
        msg: "sync ok: 2 created, 1 gone drift; 2 requests in 405 ms",
      },
    ]);
  });

  test("says why it failed, and what to do", () => {
    const { lines, observe } = aLog("info");
    observe(failedRun("LEDGER_UNAVAILABLE"));
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
    ["failed", failedRun("LEDGER_UNAVAILABLE"), "error"],
    ["interrupted", failedRun("INTERRUPTED"), "info"],
    ["not begun, for somebody else is at work", failedRun("LEASE_HELD"), "info"],
  ])("and is %s", (_, event, level) => {
    const { lines, observe } = aLog();
    observe(event);
    expect(lines).toEqual([expect.objectContaining({ level })]);
  });

  test.each([
    [
      ["LEASE_HELD", "LEASE_HELD", "LEDGER_UNAVAILABLE", "LEASE_HELD"],
      ["info", "debug", "error", "info"],
    ],
    [
      ["LEASE_HANDED_OVER", "LEASE_HELD", "LEASE_HANDED_OVER"],
      ["info", "debug", "info"],
    ],
  ])("as %j has the levels %j: a wait for the lease is told once", (codes, levels) => {
    const { lines, observe } = aLog();
    for (const code of codes) observe(failedRun(code));
    expect(lines.map(({ level }) => level)).toEqual(levels);
  });

  test("leaves its id to no line that comes after it", () => {
    const { lines, observe } = aLog("info");
    observe({ kind: "started", run: "17" });
    observe(finished());
    observe(failedRun("CONFIG_INVALID"));
    expect(lines.map(({ run }) => run)).toEqual(["17", undefined]);
  });
});

test("what calls wait for has a line every five minutes", () => {
  const { clock, lines, observe } = aLog("info");
  for (let told = 0; told <= 20; told++, clock.elapsed += 30_000)
    observe({ kind: "queued", calls: 780 - told, reason: "the service allows about 30/min" });
  expect(lines.map(({ msg }) => msg)).toEqual(
    [780, 770, 760].map((calls) => `${calls} calls wait for the service: the service allows about 30/min`),
  );
});
