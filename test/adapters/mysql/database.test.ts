import { inspect } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { PROCESS_LIST } from "../../support/mysql/mysql-server.ts";
import { aDatabase } from "../sql/ledger/ledger-database.ts";

test("a reader of a stream may take its time, though the server soon ends a transaction that rests", async () => {
  const { url, query } = await freshDatabase("mysql");
  const database = aDatabase(url, "mysql", { idleMs: 1_000 });
  const numbers = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3";
  const rows = database.stream(database.dialect.begin.snapshot, numbers, [], 1)[Symbol.asyncIterator]();
  await rows.next();
  const rested = `SELECT 1 FROM ${PROCESS_LIST} WHERE db = database() AND id <> connection_id() AND time < 3`;
  await expect.poll(() => query(rested), { timeout: 20_000 }).toEqual([]);
  expect((await rows.next()).done).toBe(false);
  expect((await rows.next()).done).toBe(false);
  expect((await rows.next()).done).toBe(true);
  const [session] = await database.query<{ seconds: unknown }>("SELECT @@wait_timeout AS seconds");
  expect(Number(session?.seconds)).toBe(1);
});

test("a connection that is in use every few seconds stays open", async () => {
  const { url } = await freshDatabase("mysql");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const database = aDatabase(url, "mysql");
    const session = () => database.query("SELECT connection_id() AS id");
    const first = await session();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await session()).toEqual(first);
  } finally {
    vi.useRealTimers();
  }
});

test("an error doesn't hold the statement that failed, because a token may be in it", async () => {
  const { url } = await freshDatabase("mysql");
  const database = aDatabase(url, "mysql");
  const failed = await database.query("SELECT $1 FROM nowhere", ["a token"]).catch((error) => error);
  expect(failed).toMatchObject({ errno: 1146 });
  expect(inspect(failed, { depth: null, showHidden: true })).not.toContain("a token");
});

test("times are UTC, whatever the time zone of this process", async () => {
  const { url } = await freshDatabase("mysql");
  vi.stubEnv("TZ", "Asia/Kathmandu");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const database = aDatabase(url, "mysql");
  const noon = new Date("2026-03-01T12:00:00.000Z");
  const read = "SELECT TIMESTAMP'2026-03-01 12:00:00' AS at";
  expect(await database.query(read)).toEqual([{ at: noon }]);
  expect(
    await database.query("SELECT 1 AS one WHERE $1 = TIMESTAMP'2026-03-01 12:00:00'", [noon]),
  ).toHaveLength(1);
});
