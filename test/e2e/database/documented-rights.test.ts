import { randomBytes } from "node:crypto";
import { expect, inject, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { type FreshDatabase, freshDatabase, SERVERS } from "../../support/databases/fresh-database.ts";
import { blocksIn, sectionText } from "../../support/pages.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";

const kind = inject("databaseKind");
const isPostgres = kind === "postgres";

const statements = (sql: string): string[] =>
  sql
    .replace(/--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");

const RIGHTS = sectionText("docs/databases.md", "Roles and rights");
const ofKind = <T>(first: T, second: T): T => (isPostgres ? first : second);
const [setupPostgres = "", setupMysql = "", writerPostgres = "", writerMysql = "", , ...verify] = blocksIn(
  RIGHTS,
  "sql",
);
const [configPostgres = "", configMysql = "", EXISTING = ""] = blocksIn(RIGHTS, "yaml");
const CONFIG = ofKind(configPostgres, configMysql);
/** The application's grants come last, because they need the table. */
const [SETUP = "", APPLICATION = ""] = ofKind(setupPostgres, setupMysql).split("-- Your application");
const [WRITER, VERIFY] = [ofKind(writerPostgres, writerMysql), ofKind(verify[0], verify[1]) ?? ""];

/** Roles, and databases too, belong to the whole server. So this replaces their names by names that nothing else uses. */
async function aStage() {
  const database = await freshDatabase();
  const world = await aWorld({ database, tenants: 2 });
  const end = `_${randomBytes(4).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  const own = (text: string): string =>
    text
      .replace(/\b(app|groupsync|groupsync_reader|groupsync_writer)\b/g, `$1${end}`)
      .replace(/\bgroupsync_tokens\b/g, isPostgres ? "$&" : `$&${end}`)
      .replaceAll("'…'", `'${password}'`)
      .replace(/\bshop\b/g, database.name);
  const [create, roles] = isPostgres
    ? ["ROLE", ["app", "groupsync_reader", "groupsync_writer", "groupsync"]]
    : ["USER", ["app", "groupsync_reader", "groupsync_writer"]];
  const app = `app${end}`;
  await database.query(
    isPostgres
      ? `CREATE ROLE ${app} LOGIN PASSWORD '${password}'`
      : `CREATE USER ${app} IDENTIFIED BY '${password}'`,
  );
  onTestFinished(async () => {
    for (const role of roles) {
      const name = role + end;
      if (isPostgres) await database.query(`DROP OWNED BY ${name} CASCADE`).catch(() => {});
      await database.query(`DROP ${create} IF EXISTS ${name}`);
    }
    if (isPostgres) return;
    await database.query(`DROP USER IF EXISTS groupsync${end}`);
    for (const name of ["groupsync", "groupsync_tokens"])
      await database.query(`DROP DATABASE IF EXISTS ${name}${end}`);
  });
  const urlOf = (url: string): string => {
    const written = new URL(own(url).replace(/^…/, kind).replaceAll("…", "x"));
    return Object.assign(new URL(database.url), {
      username: written.username,
      password,
      ...(isPostgres ? {} : { pathname: written.pathname }),
    }).href;
  };
  const configOf = (yaml: string): ConfigChanges => {
    const config = parse(own(yaml));
    for (const [name, keys] of Object.entries<{ url: string }>(config)) {
      const variable = `${name.toUpperCase()}_URL`;
      world.env[variable] = urlOf(keys.url);
      keys.url = `\${${variable}}`;
    }
    return config;
  };
  const run = async (sql: string) => {
    for (const statement of statements(own(sql))) await database.query(statement);
  };
  return { database, world, own, end, password, run, configOf };
}

const warningsOf = async (world: World): Promise<readonly string[]> =>
  (await world.plan()).warnings.map(({ code }: { readonly code: string }) => code);

const answers = async ({ query }: FreshDatabase, sql: string) =>
  Promise.all(
    statements(sql).map(async (statement) => (await query(statement)).map((row) => Object.values(row))),
  );

test("a sync needs only the documented rights, has no others, and warns of nothing", async () => {
  const { database, world, own, end, password, run, configOf } = await aStage();
  await run(SETUP);
  await world.configure(configOf(CONFIG));
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2 } });
  await run(`-- ${APPLICATION}`);
  expect(await warningsOf(world)).toEqual([]);

  const tokens = own("groupsync_tokens.tokens");
  const grants = await answers(database, own(VERIFY));
  if (isPostgres) expect(grants.flat(2).every((answer) => answer === false)).toBe(true);
  else {
    const [reader, groupsync] = grants.map((rows) =>
      rows
        .flat()
        .map(String)
        .filter((grant) => !grant.includes("GRANT USAGE")),
    );
    expect(reader).toEqual([
      expect.stringMatching(
        new RegExp(`^GRANT SELECT \\(.*company_name.*\\) ON .${database.name}.\\..customers.`),
      ),
    ]);
    expect(groupsync?.map((grant) => grant.replace(/["`]|^GRANT SELECT, .* ON | TO .*/g, "")).sort()).toEqual(
      [`groupsync${end}.*`, `groupsync_tokens${end}.groupsync_token_owners`, `groupsync_tokens${end}.tokens`],
    );
  }
  const place = isPostgres ? {} : { pathname: `/groupsync_tokens${end}` };
  const appUrl = Object.assign(new URL(database.url), { username: `app${end}`, password, ...place }).href;
  expect(await rowsAs(appUrl, `SELECT user_group_id FROM ${tokens}`)).toHaveLength(2);
});

test("a third role fills the customers' own column, which the reader may not read", async () => {
  const { database, world, run, configOf } = await aStage();
  await database.query("ALTER TABLE customers ADD token text");
  await run(SETUP);
  await run(WRITER);
  await world.configure({ ...configOf(CONFIG), ...configOf(EXISTING) });
  expect((await world.sync()).report).toMatchObject({ outcome: "ok", created: 2 });
  expect(await warningsOf(world)).toEqual([]);
  const rows = await database.query<{ id: string; token: string }>(
    "SELECT id, token FROM customers ORDER BY id",
  );
  expect(Object.fromEntries(rows.map(({ id, token }) => [id, token]))).toEqual(await world.live());
});

async function rowsAs(url: string, sql: string): Promise<readonly object[]> {
  const connections = SERVERS[kind].connect(url);
  try {
    return await connections.query(sql);
  } finally {
    await connections.end();
  }
}
