import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { SessionWaits, type WaitingSession } from "../../../../src/adapters/sql/connection/session-waits.ts";
import {
  MIGRATION,
  NoAnswer,
  SHORT_READ,
  type WaitLimits,
  WRITE,
  withinLimits,
} from "../../../../src/adapters/sql/connection/wait-limits.ts";

const NEVER = new Promise<never>(() => {});
const TIMEOUTS = { lockMs: 20, silenceMs: 600_000 };

interface TriedSession extends WaitingSession {
  readonly questions: number;
  readonly cuts: number;
}

/** A session that waits for a lock of session 7. */
function aSession(more: Partial<WaitingSession> = {}): TriedSession {
  let questions = 0;
  let cuts = 0;
  return {
    socket: () => undefined,
    lost: () => undefined,
    waitsFor: async () => {
      questions++;
      return "held by session 7";
    },
    cut: () => {
      cuts++;
    },
    isLockTimeout: (error) => error instanceof RangeError,
    ...more,
    get questions() {
      return questions;
    },
    get cuts() {
      return cuts;
    },
  };
}

const waits = (session: WaitingSession, stop = new AbortController().signal, timeouts = TIMEOUTS) =>
  new SessionWaits(session, { timeouts, stop });

const failingAfter = (ms: number, error: Error) => (): Promise<never> =>
  sleep(ms).then(() => {
    throw error;
  });

describe("the server's error of a wait for a lock", () => {
  test("names the lock's holder, for whom the server is asked once", async () => {
    const session = aSession();
    const waiting = waits(session).wait(failingAfter(60, new RangeError("lock timeout")));
    await expect(waiting).rejects.toThrow("lock timeout; held by session 7");
    expect(session).toMatchObject({ questions: 1, cuts: 0 });
  });

  test("names the holder even if the server answers that question later", async () => {
    const session = aSession({ waitsFor: () => sleep(80, "held by session 7") });
    const waiting = waits(session).wait(failingAfter(30, new RangeError("lock timeout")));
    await expect(waiting).rejects.toThrow("lock timeout; held by session 7");
  });

  test("is as it is if nobody knows", async () => {
    const session = aSession({ waitsFor: async () => "" });
    await expect(waits(session).wait(failingAfter(60, new RangeError("lock timeout")))).rejects.toThrow(
      /^lock timeout$/,
    );
  });

  test.each<[what: string, ms: number, error: Error]>([
    ["another error", 60, new Error("no such table")],
    ["an early error", 1, new RangeError("lock timeout")],
  ])("is not mixed up with %s", async (_, ms, error) => {
    const message = error.message;
    await expect(waits(aSession()).wait(failingAfter(ms, error))).rejects.toMatchObject({ message });
  });
});

test.each<[when: string, limits: Partial<WaitLimits>, error: object]>([
  ["a read at once", {}, { code: "INTERRUPTED" }],
  ["a short read after its time", { afterStopMs: 1 }, { code: "INTERRUPTED" }],
  [
    "a write after its time",
    { afterStopMs: 1, isRead: false },
    { message: expect.stringContaining("has not answered") },
  ],
])("a stop ends %s, and the session", async (_, limits, error) => {
  const stop = new AbortController();
  const session = aSession();
  const all = { answerMs: Number.POSITIVE_INFINITY, afterStopMs: 0, isRead: true, ...limits };
  const waiting = expect(waits(session, stop.signal).wait(() => NEVER, all)).rejects.toMatchObject(error);
  stop.abort();
  await waiting;
  expect(session.cuts).toBe(1);
  await expect(waits(session, stop.signal).wait(() => NEVER, all)).rejects.toMatchObject(error);
});

test.each([
  ["a short read", SHORT_READ],
  ["a write", WRITE],
])("%s that is answered in time succeeds, even after a stop", async (_, limits) => {
  const stop = new AbortController();
  stop.abort();
  expect(await waits(aSession(), stop.signal).wait(async () => "done", limits)).toBe("done");
});

test.each([
  ["a short read", SHORT_READ, 2_000, expect.objectContaining({ code: "INTERRUPTED" })],
  ["a write", WRITE, 10_000, expect.any(NoAnswer)],
  ["a migration", MIGRATION, 10_000, expect.any(NoAnswer)],
])("%s has a little more time once the program is told to stop", async (_, limits, ms, error) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stop = new AbortController();
  let ended: unknown = "waits";
  void withinLimits(stop.signal, NEVER, limits).catch((thrown) => {
    ended = thrown;
  });
  await vi.advanceTimersByTimeAsync(30_000);
  stop.abort();
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(ended).toBe("waits");
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(error);
});

test("an answer that takes longer than its limit is given up, and the error says what the session waits for", async () => {
  const session = aSession();
  const limits = { answerMs: 60, afterStopMs: 5, isRead: false };
  await expect(waits(session).wait(() => NEVER, limits)).rejects.toThrow(
    /has not answered for .*; held by session 7/,
  );
  expect(session.cuts).toBe(1);
});

test("a session of which nothing comes is given up, and one that sends bytes is not", async () => {
  const server = createServer((socket) => {
    const sending = setInterval(() => socket.write("."), 20);
    setTimeout(() => clearInterval(sending), 600);
    socket.on("error", () => {}).on("close", () => clearInterval(sending));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").resume();
  onTestFinished(() => void socket.destroy());
  const session = aSession({ socket: () => socket });
  const began = performance.now();
  const timeouts = { lockMs: 60_000, silenceMs: 300 };
  await expect(waits(session, undefined, timeouts).wait(() => NEVER)).rejects.toThrow("has not answered");
  expect(performance.now() - began).toBeGreaterThan(800);
  expect(session.cuts).toBe(1);
});

test("a migration may keep its session silent", async () => {
  const server = createServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const silent = waits(aSession({ socket: () => socket }), undefined, { lockMs: 60_000, silenceMs: 100 });
  expect(await silent.wait(() => sleep(500, "done"), MIGRATION)).toBe("done");
});

test("a session that was lost rejects with the reason, and one that is cut off with the limit that is over", async () => {
  const session = aSession({ lost: () => new Error("the server shuts down"), waitsFor: async () => "" });
  const closed = () => Promise.reject(new Error("the connection is closed"));
  await expect(waits(session).wait(closed)).rejects.toThrow("the server shuts down");
  const limits = { answerMs: 1, afterStopMs: 1, isRead: false };
  await expect(waits(session).wait(() => NEVER, limits)).rejects.toThrow(NoAnswer);
});

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
  for await (const one of waits(aSession()).each(batches())) {
    expect(one).toBe(1);
    break;
  }
  expect(closed).toBe(true);
});
