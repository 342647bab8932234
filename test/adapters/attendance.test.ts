import { expect, onTestFinished, test, vi } from "vitest";
import { mysql } from "../../src/adapters/mysql/dialect.ts";
import { postgres } from "../../src/adapters/postgres/dialect.ts";
import {
  ASKING,
  Attendance,
  type Finding,
  LockWait,
  type Session,
  type WaitLimits,
  WRITING,
} from "../../src/adapters/sql/attendance.ts";
import { ledgerTables } from "../../src/adapters/sql/ledger-tables.ts";

const NEVER = new Promise<never>(() => {});
const PATIENCE = { silenceMs: 1, lookMs: 1, lockMs: 20 };

const AT_WORK: Finding = { kind: "at work" };
const LOST: Finding = { kind: "lost", why: "nobody works for it" };
const SILENT: Finding = { kind: "silent", why: "nobody answers" };
const LOCKED: Finding = { kind: "locked", holders: "held by session 7" };

interface Attended extends Session {
  readonly looks: number;
  readonly cuts: number;
}

/** A session of which these are found, one look after the other, and then nothing else but the last. */
function aSession(findings: readonly Finding[], more: Partial<Session> = {}): Attended {
  let looks = 0;
  let cuts = 0;
  return {
    received: () => 0,
    look: async () => findings[Math.min(looks++, findings.length - 1)] ?? AT_WORK,
    cut: () => {
      cuts++;
    },
    isLockTimeout: (error) => error instanceof RangeError,
    ...more,
    get looks() {
      return looks;
    },
    get cuts() {
      return cuts;
    },
  };
}

const attend = (session: Session, stop = new AbortController().signal) =>
  new Attendance(session, PATIENCE, stop);

/** Resolves once somebody has looked so often. */
const looked = async (session: Attended, times: number): Promise<string> => {
  await expect.poll(() => session.looks, { interval: 2 }).toBeGreaterThanOrEqual(times);
  return "the answer";
};

test.each<[why: string, findings: readonly Finding[]]>([
  ["at work", [AT_WORK]],
  ["lost once, which may be of a moment", [AT_WORK, LOST, AT_WORK, LOST, AT_WORK]],
  ["silent once", [SILENT, AT_WORK, SILENT, AT_WORK]],
])("a session that is found to be %s is waited for", async (_, findings) => {
  const session = aSession(findings);
  expect(await attend(session).wait(() => looked(session, 12))).toBe("the answer");
  expect(session.cuts).toBe(0);
});

test.each<[findings: readonly Finding[], message: string]>([
  [[AT_WORK, LOST, LOST], "nobody works for it"],
  [[SILENT, SILENT], "nobody answers"],
  [[LOST, SILENT], "nobody answers"],
  [[LOCKED], "held by session 7"],
])("a session that is found to be %o is given up", async (findings, message) => {
  const session = aSession(findings);
  await expect(attend(session).wait(() => NEVER)).rejects.toThrow(message);
  expect(session.cuts).toBe(1);
});

test("nobody looks after a session that something arrives from", async () => {
  let bytes = 0;
  const session = aSession([LOST], { received: () => bytes++ });
  expect(await attend(session).wait(() => until(() => bytes > 10, "the answer"))).toBe("the answer");
  expect(session.looks).toBe(0);
});

test("a statement that is locked out at the end of its long work has as much time as any other", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const session = aSession([...Array(50).fill(AT_WORK), LOCKED]);
  let failure: unknown;
  const waiting = attend(session).wait(() => NEVER);
  waiting.catch((error: unknown) => {
    failure = error;
  });
  await vi.advanceTimersByTimeAsync(50 * PATIENCE.silenceMs);
  for (let ms = 1; ms < PATIENCE.lockMs; ms++) {
    await vi.advanceTimersByTimeAsync(1);
    expect(failure).toBeUndefined();
  }
  await vi.advanceTimersByTimeAsync(2);
  await expect(waiting).rejects.toThrow("held by session 7");
});

test.each<[when: string, findings: readonly Finding[]]>([
  ["as the last look found it", [LOCKED]],
  ["though the last look found nothing out", [LOCKED, SILENT]],
])("the server's own end of a wait for a lock names who holds it, %s", async (_, findings) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const session = aSession(findings);
  let giveUp = (): void => {};
  const ask = () =>
    new Promise<never>((_, reject) => {
      giveUp = () => reject(new RangeError("lock timeout"));
    });
  const waiting = expect(attend(session).wait(ask)).rejects.toThrow("lock timeout; held by session 7");
  await vi.advanceTimersByTimeAsync(findings.length * PATIENCE.silenceMs);
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
])("who is told to stop ends %s", async (_, limits, error) => {
  const stop = new AbortController();
  const session = aSession([AT_WORK]);
  const all = { answerMs: Number.POSITIVE_INFINITY, afterStopMs: 0, isRead: true, ...limits };
  const waiting = expect(attend(session, stop.signal).wait(() => NEVER, all)).rejects.toMatchObject(error);
  await looked(session, 1);
  stop.abort();
  await waiting;
  expect(session.cuts).toBe(1);
  await expect(attend(session, stop.signal).wait(() => NEVER, all)).rejects.toMatchObject(error);
});

test.each([
  ["a short read", ASKING],
  ["a write", WRITING],
])("%s that is answered is done, also after somebody was told to stop", async (_, limits) => {
  const stop = new AbortController();
  stop.abort();
  expect(await attend(aSession([]), stop.signal).wait(async () => "done", limits)).toBe("done");
});

test("an answer that takes longer than it may is given up, whatever the session is doing", async () => {
  const limits = { answerMs: 5, afterStopMs: 5, isRead: false };
  await expect(attend(aSession([AT_WORK])).wait(() => NEVER, limits)).rejects.toThrow("has not answered");
});

test("what waits for a lock for longer than an answer may take names who holds it", async () => {
  const limits = { ...WRITING, answerMs: 50 };
  const failure = await attend(aSession([LOCKED]))
    .wait(() => NEVER, limits)
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(LockWait);
  expect(failure).toMatchObject({
    message: expect.stringMatching("has not answered for .*; held by session 7"),
  });
});

test.each([postgres, mysql])(
  "a migration may take as long as its session works, but not wait for a lock",
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
    await expect(attend(aSession([LOCKED])).wait(() => NEVER, limits)).rejects.toThrow("held by session 7");
  },
);

test("what comes in batches is waited for batch by batch, and closed where the reader stops early", async () => {
  let closed = false;
  async function* batches() {
    try {
      yield 1;
      yield 2;
    } finally {
      closed = true;
    }
  }
  for await (const one of attend(aSession([])).each(batches())) {
    expect(one).toBe(1);
    break;
  }
  expect(closed).toBe(true);
});

async function until<T>(condition: () => boolean, answer: T): Promise<T> {
  await expect.poll(condition, { interval: 2 }).toBe(true);
  return answer;
}
