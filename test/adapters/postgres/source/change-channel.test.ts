import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { postgresChangeChannel } from "../../../../src/adapters/postgres/source/change-channel.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import type { OpenChannel } from "../../../../src/ports/change-feed.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { behindPgbouncer } from "../../../support/postgres/pgbouncer.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { encodedDatabase } from "../encoded-database.ts";
import { deafPooler } from "./deaf-pooler.ts";

const APPLICATION = "groupsync:listener-under-test";
const PATIENT = 60_000;
const SHORT = 2_000;

const channelAt = (url: string, limitMs = PATIENT) =>
  postgresChangeChannel({
    url: new Secret(url),
    applicationName: APPLICATION,
    channel: "customers_changed",
    limitMs,
  });

interface Listening {
  readonly open: OpenChannel;
  readonly heard: string[];
}

async function listen(url: string, limitMs = PATIENT): Promise<Listening> {
  const heard: string[] = [];
  const open = await channelAt(url, limitMs).open((payload) => heard.push(payload), NEVER);
  onTestFinished(() => open.close());
  return { open, heard };
}

const database = (): Promise<FreshDatabase> => freshDatabase("postgres");

const notify = ({ query }: FreshDatabase, payload: string, channel = "customers_changed") =>
  query("SELECT pg_notify($1, $2)", [channel, payload]);

test("hears the payloads of its channel in order, and no other channel", async () => {
  const fresh = await database();
  const { open, heard } = await listen(fresh.url);
  await notify(fresh, "Zürich 😀");
  await notify(fresh, "elsewhere", "customers");
  await notify(fresh, "");
  await notify(fresh, "x".repeat(7_999));
  await expect.poll(() => heard, { timeout: PATIENT }).toHaveLength(3);
  expect(heard).toEqual(["Zürich 😀", "", "x".repeat(7_999)]);
  await open.probe();
});

test("goes on to hear after a payload in bytes that are not UTF-8", async () => {
  const url = await encodedDatabase("SQL_ASCII");
  const { heard } = await listen(url);
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  for (const payload of ["convert_from('\\xeb', 'SQL_ASCII')", "'ë'"])
    await client.query(`SELECT pg_notify('customers_changed', ${payload})`);
  await expect.poll(() => heard, { timeout: PATIENT }).toEqual(["\ufffd", "ë"]);
});

test("hears itself, and passes neither its own notifications on nor those of another groupsync", async () => {
  const fresh = await database();
  const one = await listen(fresh.url);
  const other = await listen(fresh.url);
  await one.open.probe();
  await other.open.probe();
  await notify(fresh, "last");
  for (const { heard } of [one, other]) {
    await expect.poll(() => heard, { timeout: PATIENT }).toContain("last");
    expect(heard).toEqual(["last"]);
  }
});

test("is one session with groupsync's name, outside of any transaction", async () => {
  const fresh = await database();
  const { open } = await listen(fresh.url);
  await open.probe();
  const sessions = await fresh.query(
    `SELECT application_name AS name, state FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
  );
  expect(sessions).toEqual([{ name: APPLICATION, state: "idle" }]);
});

test("doesn't open through a pooler that passes no notifications on", async () => {
  const url = await deafPooler((await database()).url);
  await expect(channelAt(url, SHORT).open(() => {}, NEVER)).rejects.toMatchObject({
    code: "CHANGES_NOT_HEARD",
    hint: expect.stringContaining("source.changes.url"),
  });
});

test("says that its connection is lost if the server ends it", async () => {
  const fresh = await database();
  const { open } = await listen(fresh.url);
  await fresh.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [APPLICATION],
  );
  expect(await open.lost).toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringMatching(/^cannot listen on customers_changed: terminating connection/),
  });
  await expect(open.probe()).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE" });
});

test("says that its connection is lost if the line is cut", async () => {
  const line = await tcpProxy((await database()).url);
  const { open } = await listen(line.url);
  line.limit(0);
  expect(await open.lost).toMatchObject({ code: "SOURCE_UNAVAILABLE" });
});

test("waits no longer than it was told for a line that has fallen silent", async () => {
  const line = await tcpProxy((await database()).url);
  const { open } = await listen(line.url, SHORT);
  line.strand();
  await expect(open.probe()).rejects.toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringContaining("the database has not answered"),
  });
});

test("a stop ends the attempt to open, and the wait for a notification", async () => {
  const { url } = await database();
  const line = await tcpProxy(url);
  line.swallow(true);
  const stop = new AbortController();
  const opening = channelAt(line.url).open(() => {}, stop.signal);
  stop.abort();
  await expect(opening).rejects.toMatchObject({ code: "INTERRUPTED" });

  const later = new AbortController();
  const waiting = channelAt(await deafPooler(url)).open(() => {}, later.signal);
  later.abort();
  await expect(waiting).rejects.toMatchObject({ code: "INTERRUPTED" });
});

test("says why it can't connect", async () => {
  const url = new URL((await database()).url);
  url.password = "wrong";
  url.username = "nobody_at_all";
  await expect(channelAt(url.href).open(() => {}, NEVER)).rejects.toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringContaining("cannot listen on customers_changed"),
    hint: expect.stringContaining("check user"),
  });
});

test.each(["session", "transaction"] as const)(
  "doesn't listen through a PgBouncer in %s mode, and leaves no LISTEN behind",
  async (mode) => {
    const url = await behindPgbouncer((await database()).url, { mode, poolSize: 1 });
    await expect(channelAt(url).open(() => {}, NEVER)).rejects.toMatchObject({
      code: "CHANGES_NOT_HEARD",
      hint: expect.stringContaining("source.changes.url"),
    });
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    expect((await client.query("SELECT pg_listening_channels() AS name")).rows).toEqual([]);
  },
);
