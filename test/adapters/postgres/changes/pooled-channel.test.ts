import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { PostgresChangeChannel } from "../../../../src/adapters/postgres/changes/change-channel.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { behindPgbouncer } from "../../../support/postgres/behind-pgbouncer.ts";

const CHANNEL = "customers_changed";
const PATIENT = 60_000;

const channelAt = (url: string): PostgresChangeChannel =>
  new PostgresChangeChannel({
    url: new Secret(url),
    applicationName: "groupsync:pooled",
    channel: CHANNEL,
    limitMs: PATIENT,
  });

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** What each connection of a pool of this size listens on. */
async function listening(url: string, poolSize: number): Promise<readonly string[]> {
  const clients = await Promise.all(Array.from({ length: poolSize }, () => connected(url)));
  await Promise.all(clients.map((client) => client.query("BEGIN")));
  const answers = await Promise.all(
    clients.map((client) => client.query<{ name: string }>("SELECT pg_listening_channels() AS name")),
  );
  await Promise.all(clients.map((client) => client.query("COMMIT")));
  return answers.flatMap(({ rows }) => rows.map(({ name }) => name));
}

describe.each([1, 2, 3])("behind a PgBouncer in transaction mode with a pool of %i", (poolSize) => {
  test.each(["0", "1"])("is not heard, and leaves no LISTEN behind (round robin %s)", async (roundRobin) => {
    const { url: direct, query } = await freshDatabase("postgres");
    const url = await behindPgbouncer(direct, {
      mode: "transaction",
      poolSize,
      settings: { server_round_robin: roundRobin },
    });
    // As many connections of the pool as there can be are open.
    await listening(url, poolSize);
    const application = await connected(url);
    const unasked: unknown[] = [];
    application.on("notification", (notification) => unasked.push(notification));

    await expect(channelAt(url).open(() => {}, NEVER)).rejects.toMatchObject({
      code: "CHANGES_NOT_HEARD",
      hint: expect.stringContaining("source.changes.url"),
    });

    expect(await listening(url, poolSize)).toEqual([]);
    await query("SELECT pg_notify($1, 'a')", [CHANNEL]);
    for (let n = 0; n < 5; n++) await application.query("SELECT 1");
    expect(unasked).toEqual([]);
  });
});

test("is heard behind a PgBouncer in session mode", async () => {
  const { url: direct, query } = await freshDatabase("postgres");
  const url = await behindPgbouncer(direct, { mode: "session", poolSize: 2 });
  const heard: string[] = [];
  const open = await channelAt(url).open((payload) => heard.push(payload), NEVER);
  onTestFinished(() => open.close());
  await query("SELECT pg_notify($1, 'a')", [CHANNEL]);
  await expect.poll(() => heard, { timeout: PATIENT }).toEqual(["a"]);
});
