import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { startPostgres } from "./embedded-postgres.ts";

// Where the run was given a server, PostgreSQL need not be installed.
describe.skipIf(process.env.GROUPSYNC_TEST_POSTGRES_URL)("an embedded PostgreSQL", () => {
  test("commits durably only where it is asked to, and takes any setting", async () => {
    const quick = await startPostgres({ settings: { application_name: "it's quick" } });
    onTestFinished(quick.stop);
    const durable = await startPostgres({ durable: true });
    onTestFinished(durable.stop);
    expect(await setting(quick.url, "fsync")).toBe("off");
    expect(await setting(durable.url, "fsync")).toBe("on");
    expect(await setting(quick.url, "application_name")).toBe("it's quick");
  });
});

async function setting(url: string, name: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ value: string }>("SELECT current_setting($1) AS value", [name]);
    return rows[0]?.value ?? "";
  } finally {
    await client.end();
  }
}
