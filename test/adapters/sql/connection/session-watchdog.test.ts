import { expect, onTestFinished, test, vi } from "vitest";
import { mysql } from "../../../../src/adapters/mysql/dialect.ts";
import { postgres } from "../../../../src/adapters/postgres/dialect.ts";
import {
  LockWait,
  type SessionState,
  SessionWatchdog,
  type WatchedSession,
} from "../../../../src/adapters/sql/connection/session-watchdog.ts";
import { SHORT_READ, type WaitLimits, WRITE } from "../../../../src/adapters/sql/connection/wait-limits.ts";
import { ledgerTables } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";

const NEVER = new Promise<never>(() => {});
const TIMEOUTS = { silenceMs: 1, inspectMs: 1, lockMs: 20 };

const AT_WORK: SessionState = { kind: "at work" };
const LOST: SessionState = { kind: "lost", why: "nobody works for it" };
const SILENT: SessionState = { kind: "silent", why: "nobody answers" };
const LOCKED: SessionState = { kind: "locked", holders: "held by session 7" };

interface InspectedSession extends WatchedSession {
  readonly inspections: number;
  readonly cuts: number;
}

/** A session whose inspections find these states in turn, and after that always the last of them. */
function aSession(states: readonly SessionState[], more: Partial<WatchedSession> = {}): InspectedSession {
  let inspections = 0;
  let cuts = 0;
  return {
    received: () => 0,
    inspect: async () => states[Math.min(inspections++, states.length - 1)] ?? AT_WORK,
    cut: () => {
      cuts++;
    },
    isLockTimeout: (error) => error instanceof RangeError,
    ...more,
    get inspections() {
      return inspections;
    },
    get cuts() {
      return cuts;
    },
  };
}

const watch = (session: WatchedSession, stop = new AbortController().signal) =>
  new SessionWatchdog(session, TIMEOUTS, stop);

/** Resolves once the session has been inspected this often. */
const inspected = async (session: InspectedSession, times: number): Promise<string> => {
  await expect.poll(() => session.inspections, { interval: 2 }).toBeGreaterThanOrEqual(times);
  return "the answer";
};

test.each<[why: string, states: readonly SessionState[]]>([
  ["at work", [AT_WORK]],
  ["lost in one inspection only", [AT_WORK, LOST, AT_WORK, LOST, AT_WORK]],
  ["silent in one inspection only", [SILENT, AT_WORK, SILENT, AT_WORK]],
])("the watchdog waits for a session that is %s", async (_, states) => {
  const session = aSession(states);
  expect(await watch(session).wait(() => inspected(session, 12))).toBe("the answer");
  expect(session.cuts).toBe(0);
});

test.each<[states: readonly SessionState[], message: string]>([
  [[AT_WORK, LOST, LOST], "nobody works for it"],
  [[SILENT, SILENT], "nobody answers"],
  [[LOST, SILENT], "nobody answers"],
  [[LOCKED], "held by session 7"],
])("the watchdog gives up a session that is %o", async (states, message) => {
  const session = aSession(states);
  await expect(watch(session).wait(() => NEVER)).rejects.toThrow(message);
  expect(session.cuts).toBe(1);
});

test("a session that sends bytes is not inspected", async () => {
  let bytes = 0;
  const session = aSession([LOST], { received: () => bytes++ });
  expect(await watch(session).wait(() => until(() => bytes > 10, "the answer"))).toBe("the answer");
  expect(session.inspections).toBe(0);
});

test("the lock limit counts from the moment at which the session begins to wait for the lock", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const session = aSession([...Array(50).fill(AT_WORK), LOCKED]);
  let failure: unknown;
  const waiting = watch(session).wait(() => NEVER);
  waiting.catch((error: unknown) => {
    failure = error;
  });
  await vi.advanceTimersByTimeAsync(50 * TIMEOUTS.silenceMs);
  for (let ms = 1; ms < TIMEOUTS.lockMs; ms++) {
    await vi.advanceTimersByTimeAsync(1);
    expect(failure).toBeUndefined();
  }
  await vi.advanceTimersByTimeAsync(2);
  await expect(waiting).rejects.toThrow("held by session 7");
});

test.each<[when: string, states: readonly SessionState[]]>([
  ["as the last inspection found it", [LOCKED]],
  ["even if the last inspection found nothing", [LOCKED, SILENT]],
])("the server's lock timeout names the lock's holder, %s", async (_, states) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const session = aSession(states);
  let giveUp = (): void => {};
  const ask = () =>
    new Promise<never>((_, reject) => {
      giveUp = () => reject(new RangeError("lock timeout"));
    });
  const waiting = expect(watch(session).wait(ask)).rejects.toThrow("lock timeout; held by session 7");
  await vi.advanceTimersByTimeAsync(states.length * TIMEOUTS.silenceMs);
  giveUp();
  await waiting;
  expect(session.cuts).toBe(0);
});

test.each<[when: string, limits: Partial<WaitLimits>, error: object]>([
  ["a read at once", {}, { code: "INTERRUPTED" }],
  ["a short read after its time", { afterStopMs: 1 }, { code: "INTERRUPTED" }],
  [
    "a write after its time",
    { afterStopMs: 1, isRead: false },
    { message: expect.stringContaining("has not answered") },
  ],
])("a stop ends %s", async (_, limits, error) => {
  const stop = new AbortController();
  const session = aSession([AT_WORK]);
  const all = { answerMs: Number.POSITIVE_INFINITY, afterStopMs: 0, isRead: true, ...limits };
  const waiting = expect(watch(session, stop.signal).wait(() => NEVER, all)).rejects.toMatchObject(error);
  await inspected(session, 1);
  stop.abort();
  await waiting;
  expect(session.cuts).toBe(1);
  await expect(watch(session, stop.signal).wait(() => NEVER, all)).rejects.toMatchObject(error);
});

test.each([
  ["a short read", SHORT_READ],
  ["a write", WRITE],
])("%s that is answered in time succeeds, even after a stop", async (_, limits) => {
  const stop = new AbortController();
  stop.abort();
  expect(await watch(aSession([]), stop.signal).wait(async () => "done", limits)).toBe("done");
});

test("an answer that takes longer than its limit is given up, even if the session is at work", async () => {
  const limits = { answerMs: 5, afterStopMs: 5, isRead: false };
  await expect(watch(aSession([AT_WORK])).wait(() => NEVER, limits)).rejects.toThrow("has not answered");
});

test("the error of a late answer names the holder of the lock that the session waits for", async () => {
  const limits = { ...WRITE, answerMs: 50 };
  const failure = await watch(aSession([LOCKED]))
    .wait(() => NEVER, limits)
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(LockWait);
  expect(failure).toMatchObject({
    message: expect.stringMatching("has not answered for .*; held by session 7"),
  });
});

test.each([postgres, mysql])(
  "a migration may run for any time, but not wait for a lock",
  async ({ migrateLedger }) => {
    const transaction = vi.fn();
    const unused = (): never => expect.fail("nothing else is asked");
    const query = async <Row>(): Promise<Row[]> => [{ server_encoding: "UTF8" } as Row];
    const others = { write: unused, change: unused, stream: unused, close: unused };
    const connections = { query, transaction, ...others, byRolesPath: { query, ...others } };
    const location = { schema: undefined, tablePrefix: "groupsync_" };
    await migrateLedger(connections, ledgerTables(postgres, location), location, { from: "nothing" });
    const limits: WaitLimits = transaction.mock.calls[0]?.[2];
    expect(limits).toMatchObject({ answerMs: Number.POSITIVE_INFINITY, isRead: false });
    await expect(watch(aSession([LOCKED])).wait(() => NEVER, limits)).rejects.toThrow("held by session 7");
  },
);

test("each batch has its own wait, and the source of the batches is closed if the reader stops early", async () => {
  let closed = false;
  async function* batches() {
    try {
      yield 1;
      yield 2;
    } finally {
      closed = true;
    }
  }
  for await (const one of watch(aSession([])).each(batches())) {
    expect(one).toBe(1);
    break;
  }
  expect(closed).toBe(true);
});

async function until<T>(condition: () => boolean, answer: T): Promise<T> {
  await expect.poll(condition, { interval: 2 }).toBe(true);
  return answer;
}
