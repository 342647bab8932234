import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { startProgram } from "../e2e/program.ts";
import { until } from "../e2e/world.ts";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { documentsIn, image, textOf } from "./files.ts";

const [{ services, secrets }] = documentsIn("compose/compose.yaml");
const FOLDER = "deploy/compose/";

/** The content of each secret of compose.yaml, by the path at which Compose puts it. */
const mounted = Object.fromEntries(
  (services.groupsync.secrets as string[]).map((name) => [
    `/run/secrets/${name}`,
    textOf(join(FOLDER, secrets[name].file)),
  ]),
);

test("the trial's database, service and daemon come into sync, without an engine for containers", async () => {
  const folder = temporaryFolder();
  const server = await startPostgres({ durable: true });
  onTestFinished(server.stop);
  const shop = await database(server.url);

  const sandbox = startProgram([...services.service.command, "--port", "0"]);
  const address = await printed(sandbox.output, /base_url: (\S+)/);
  const elsewhere = (text: string): string =>
    text
      .replace("http://service:4180", address.replace("0.0.0.0", "127.0.0.1"))
      .replace("@database/", `@127.0.0.1:${server.port}/`)
      .replaceAll("/run/secrets/", `${folder}/`);
  for (const [path, content] of Object.entries(mounted)) {
    writeFileSync(path.replace("/run/secrets", folder), elsewhere(content));
  }
  const config = join(folder, "config.yaml");
  writeFileSync(config, elsewhere(textOf(`${FOLDER}trial/config.yaml`)));
  expect(services.groupsync.volumes).toEqual([`./trial:${image.config.replace("/config.yaml", "")}:ro`]);

  const daemon = startProgram(["--config", config, "run"], { GROUPSYNC_HTTP_LISTEN: "127.0.0.1:0" });
  const tokens = async (): Promise<string[]> => {
    const { rows } = await shop.query("SELECT to_regclass('groupsync_tokens.tokens') AS made");
    if (rows[0].made === null) return [];
    const stored = await shop.query("SELECT user_group_id FROM groupsync_tokens.tokens ORDER BY 1");
    return stored.rows.map(({ user_group_id }) => user_group_id);
  };
  await until(async () => (await tokens()).length === 4);
  expect(await tokens()).toEqual(["cus-1001", "cus-1002", "cus-1003", "cus-1005"]);

  // The commands in the docs. The trigger tells the daemon of both customers, before the next full sync.
  const [, section = ""] = /^## Try it in containers$(.*?)^## /ms.exec(textOf("docs/deploy.md")) ?? [];
  const [show = "", insert = "", update = "", remove = ""] = [...section.matchAll(/-c "(.+?)"/g)].map(
    ([, sql = ""]) => sql,
  );
  expect((await shop.query(show)).rowCount).toBe(4);
  await until(() => daemon.output().includes("groupsync notices changed tenants"));
  await shop.query(insert);
  await shop.query(update);
  await until(async () => (await tokens()).length === 6);
  await shop.query(remove);
  const { stdout } = await startProgram(["--config", config, "plan"]).ended;
  expect(stdout).toMatch(/^= cus-1002 .*its tenant is gone; deleted after another/m);
  // No warning: the trial's rights are those of the docs.
  expect(daemon.output()).not.toContain('"level":"warn"');
});

/** The database as the image of PostgreSQL makes it at its first start, for its superuser. */
async function database(url: string): Promise<pg.Client> {
  const { POSTGRES_DB: name } = services.database.environment;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const client = new pg.Client({ connectionString: url.replace(/postgres$/, name) });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(textOf(`${FOLDER}trial/customers.sql`));
  return client;
}

/** Waits until the pattern is printed, and returns its first group. */
async function printed(output: () => string, pattern: RegExp): Promise<string> {
  await until(() => pattern.test(output()));
  return pattern.exec(output())?.[1] ?? "";
}
