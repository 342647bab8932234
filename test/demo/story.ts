import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { heading, print, table, typed } from "./page.ts";
import type { Stage } from "./stage.ts";

const CUSTOMERS = 400;
/**
 * The role that reads the customers. It isn't groupsync's own role: the owner of a table can run code as its readers.
 */
const READER = { username: "customers_reader", password: randomBytes(12).toString("hex") };

/** A service that updates existing groups, and answers as fast as a service in the same country. */
export const SANDBOX = "groupsync sandbox --port 0 --existing update --latency 20-60";

const config = (baseUrl: string): string => `service:
  base_url: ${baseUrl}
  api_key: \${GROUPSYNC_API_KEY}
source:
  url: \${CUSTOMERS_URL}  # may read the customers, and nothing else
  table: customers
  where: status = 'active'
group:
  id: id
  name: company_name
  mapping:
    "40": data_source_id
    "134": "warehouse-{{ region }}"
  properties:
    plan: plan
    seats: seats
    logo: { column: logo_url, optional: true }
tokens:
  url: \${DATABASE_URL}
  table: groupsync_tokens.tokens
ledger:
  url: \${DATABASE_URL}
deletion:
  grace_period: 0s  # 24h unless you say otherwise
`;

const NEXT = `To try it with your own tables, in this folder and with DATABASE_URL set to your database's url:

  npx groupsync init      proposes a config from your tables, and writes it with the statements for its two roles
  npx groupsync check     tries everything that a sync needs, and changes nothing
  npx groupsync probe     finds out how your service behaves, with one group that it deletes again
  npx groupsync plan      shows what a sync would do
  npx groupsync sync      does it once
  npx groupsync run       the daemon, with a status page on http://127.0.0.1:8080

No service at hand? npx groupsync sandbox --existing update is one, and prints the lines of the config that lead to it.
docs/deploy.md says how to put it into production.`;

/**
 * The demo from its first line to its last, or up to the daemon with `keep`. Rejects with the signal's reason if the
 * signal aborts.
 */
export async function tellStory(stage: Stage, signal: AbortSignal, keep: boolean): Promise<void> {
  const chapter = (title: string): void => {
    signal.throwIfAborted();
    heading(title);
  };
  const sql = async (text: string): Promise<void> => {
    signal.throwIfAborted();
    typed("=>", text);
    const { rows } = await stage.database.query(text);
    if (rows.length > 0) table(rows);
  };
  const shell = async (line: string): Promise<void> => {
    signal.throwIfAborted();
    typed("$", line);
    const code = await stage.shell(line, signal);
    if (code !== 0) throw new Error(`this was not to be expected: exit code ${code}`);
  };

  chapter("Customers in a database …");
  await createCustomers(stage);
  await sql(
    "SELECT id, plan, seats, region, data_source_id, company_name FROM customers ORDER BY id LIMIT 4;",
  );
  print(`  … ${CUSTOMERS} rows`);

  chapter("… and a dashboard service that wants a user group for each: here, the sandbox");
  const { baseUrl, apiKey } = stage.sandbox;
  typed("$", `${SANDBOX} &`);
  print(`It listens at ${baseUrl} and holds no groups yet.`);

  chapter("config.yaml says how a row becomes a group");
  writeFileSync(join(stage.folder, "config.yaml"), config(baseUrl));
  stage.env.DATABASE_URL = stage.databaseUrl;
  stage.env.CUSTOMERS_URL = Object.assign(new URL(stage.databaseUrl), READER).href;
  stage.env.GROUPSYNC_API_KEY = apiKey;
  typed(
    "$",
    `export DATABASE_URL=postgres://… CUSTOMERS_URL=postgres://… GROUPSYNC_API_KEY=${apiKey.slice(0, 12)}…`,
  );
  if (!process.stderr.isTTY) {
    stage.env.GROUPSYNC_LOG_LEVEL = "error";
    typed("$", "export GROUPSYNC_LOG_LEVEL=error  # no terminal here: it would log lines of JSON");
  }
  await shell("cat config.yaml");

  chapter("plan shows what is to be done, and asks the service nothing");
  await shell("groupsync plan | tail -n 7");

  chapter("sync does it");
  await shell("groupsync sync");

  chapter("Each group's token is where your application can read it");
  await sql(`SELECT id, left(token, 4) || '…' AS token, company_name
   FROM customers JOIN groupsync_tokens.tokens ON user_group_id = id
   WHERE id > 'cus-1395' ORDER BY id LIMIT 4;`);

  chapter("The token of cus-1397 has leaked: rotate makes a new one, and the old one is dead");
  await shell("groupsync rotate --only cus-1397");
  await sql(`SELECT user_group_id, left(token, 4) || '…' AS token, updated_at::time(0) AS since
   FROM groupsync_tokens.tokens WHERE user_group_id = 'cus-1397';`);

  chapter("Time passes: a rename, an upgrade, a move, a goodbye, a new customer …");
  await sql("UPDATE customers SET company_name = 'Alderbrook Freight' WHERE id = 'cus-1001';");
  await sql("UPDATE customers SET plan = 'enterprise', seats = 300 WHERE id = 'cus-1042';");
  await sql("UPDATE customers SET region = 'us-west' WHERE id = 'cus-1077';");
  await sql("UPDATE customers SET status = 'cancelled' WHERE id = 'cus-1203';");
  await sql(`INSERT INTO customers
   VALUES ('cus-1401', 'Wintergreen Tea', 'team', 20, 'eu-west', 'ds-eu-9800', NULL, 'active');`);

  chapter("… and two mistakes");
  await sql("UPDATE customers SET data_source_id = NULL WHERE id = 'cus-1117';");
  await sql("INSERT INTO customers SELECT * FROM customers WHERE id = 'cus-1305';");

  chapter("plan: old → new");
  await shell("groupsync plan");

  chapter("sync: a mistake in one row costs that row alone, and its group stays as it is");
  await shell('groupsync sync; echo "exit code $?"');

  chapter("Then an import spells 'active' in another way, and half of the customers seem to be gone");
  await sql("UPDATE customers SET status = 'Active' WHERE status = 'active' AND id > 'cus-1200';");
  await shell("groupsync plan | tail -n 7");

  chapter("sync holds what is more than deletion.limit: nothing is deleted before somebody has looked");
  await shell('groupsync sync; echo "exit code $?"');

  chapter("The mistake is found and repaired: nobody has lost a group or a token");
  await sql("UPDATE customers SET status = 'active' WHERE status = 'Active';");
  await shell('groupsync sync; echo "exit code $?"');

  chapter("status: what groupsync knows");
  await shell("groupsync status");

  chapter("Now with your own database");
  print(NEXT);
  if (!keep) print("\nTo sign up as a new customer, and to see the status page: npm run demo -- --keep");
}

async function createCustomers({ database }: Stage): Promise<void> {
  await database.query(INVENT_CUSTOMERS);
  await database.query("CREATE SCHEMA groupsync_tokens");
  await database.query(`CREATE ROLE ${READER.username} LOGIN PASSWORD '${READER.password}'`);
  await database.query(`GRANT SELECT ON customers TO ${READER.username}`);
}

/**
 * Invents customers, the same ones every time. The last ones have odd names, as real tables hold sooner or later: the end of a
 * plan shows them.
 */
const INVENT_CUSTOMERS = `
  CREATE TABLE customers AS
  SELECT 'cus-' || 1001 + i AS id, coalesce(odd, part_1 || ' ' || part_2) AS company_name, plan, seats, region,
    'ds-' || left(region, 2) || '-' || 7000 + 7 * i AS data_source_id,
    CASE WHEN i % 4 > 0 THEN 'https://cdn.example.com/logos/' || 1001 + i || '.svg' END AS logo_url,
    CASE WHEN i % 23 = 22 THEN 'cancelled' ELSE 'active' END AS status
  FROM generate_series(0, ${CUSTOMERS - 1}) AS i
  JOIN (VALUES (0, 'Alderbrook'), (1, 'Brightwater'), (2, 'Cobalt'), (3, 'Driftwood'), (4, 'Eastgate'), (5, 'Fernhill'),
    (6, 'Granite Bay')) AS first_parts (a, part_1) ON a = i % 7
  JOIN (VALUES (0, 'Logistics'), (1, 'Foods'), (2, 'Robotics'), (3, 'Health'), (4, 'Energy'), (5, 'Studios'),
    (6, 'Insurance'), (7, 'Software')) AS second_parts (b, part_2) ON b = i % 8
  JOIN (VALUES (0, 'starter', 5), (1, 'enterprise', 250), (2, 'team', 25)) AS plans (c, plan, seats) ON c = i % 3
  JOIN (VALUES (0, 'sa-east'), (1, 'us-east'), (2, 'eu-west'), (3, 'eu-central')) AS regions (d, region) ON d = i % 4
  LEFT JOIN (VALUES (4, 'O''Malley & Sons'), (3, 'Müller Präzisionswerkzeuge GmbH'), (2, '🦊 Foxtrot Games'),
    (1, 'The Association of Independent Regional Manufacturers of Hand-Blown Glass and Fine Porcelain')
  ) AS odd_names (before_end, odd) ON before_end = ${CUSTOMERS} - i
  ORDER BY i`;
