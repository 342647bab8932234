import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { insistOnSchema } from "../../support/config-schema.ts";
import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import type { Ended } from "../program.ts";
import type { World } from "../world.ts";

/** Somebody who has a database and nothing else, and does what init says. */
export interface Newcomer {
  readonly configFile: string;
  readonly sqlFile: string;
  init(...flags: string[]): Promise<Ended>;
  /** Removes what init has written. */
  discard(): Promise<void>;
  /** Runs the statements as an administrator, and gives the program the urls of the two roles alone. */
  followSteps(): Promise<void>;
  /** Text with the names that the roles and schemas have here. */
  named(text: string): string;
  /** Token by id, as the application reads them, in the customer's database or in this one. */
  tokens(database?: Pick<FreshDatabase, "query">): Promise<Readonly<Record<string, string>>>;
  /** Whether it is written beside the tokens whose they are. */
  hasOwnersMark(): Promise<boolean>;
}

export async function aNewcomer(world: World): Promise<Newcomer> {
  const { database, env } = world;
  const isPostgres = database.kind === "postgres";
  const folder = join(world.folder, "first-steps");
  await mkdir(folder);
  const [configFile, sqlFile] = [join(folder, "config.yaml"), join(folder, "groupsync.sql")];
  env.GROUPSYNC_CONFIG = configFile;
  env.GROUPSYNC_HTTP_LISTEN = "127.0.0.1:0";
  const names = someNames();
  return {
    configFile,
    sqlFile,
    init: (...flags) => world.run("init", ...flags),
    async discard() {
      for (const file of [configFile, sqlFile]) await rm(file, { force: true });
    },
    async followSteps() {
      const yaml = names.own(await readFile(configFile, "utf8"));
      insistOnSchema(yaml);
      await writeFile(configFile, yaml);
      dropAtTheEnd(database, names);
      const sql = names.own(await readFile(sqlFile, "utf8"));
      await runScript(database, sql);
      const password = randomBytes(12).toString("hex");
      // On MySQL as the file says; on PostgreSQL it names a command of psql.
      const statements = isPostgres
        ? [names.reader, names.writer].map((role) => `ALTER ROLE ${role} PASSWORD '…'`)
        : [...sql.matchAll(/^-- +(ALTER USER .*);$/gm)].map(([, statement = ""]) => statement);
      for (const statement of statements) await database.query(statement.replace("…", password));
      const as = (username: string, pathname: string): string =>
        Object.assign(new URL(database.url), { username, password, pathname }).href;
      env.DATABASE_URL = as(names.reader, database.name);
      env.GROUPSYNC_DATABASE_URL = as(names.writer, isPostgres ? database.name : names.writer);
    },
    named: names.own,
    async tokens({ query } = database) {
      const rows = await query<{ user_group_id: string; token: string }>(
        `SELECT user_group_id, token FROM ${names.tokens}.tokens ORDER BY 1`,
      );
      return Object.fromEntries(rows.map(({ user_group_id, token }) => [user_group_id, token]));
    },
    hasOwnersMark: async () =>
      (await database.query(`SELECT 1 FROM ${names.tokens}.groupsync_token_owners`)).length === 1,
  };
}

interface Names {
  readonly reader: string;
  readonly writer: string;
  readonly tokens: string;
  own(text: string): string;
}

/** Roles, and on MySQL databases, belong to the whole server: other tests have some of the same names. */
function someNames(): Names {
  const end = `_${randomBytes(4).toString("hex")}`;
  return {
    reader: `groupsync_reader${end}`,
    writer: `groupsync${end}`,
    tokens: `groupsync_tokens${end}`,
    // A path with this name is no role's.
    own: (text) => text.replace(/(?<!\/)\b(groupsync|groupsync_reader|groupsync_tokens)\b/g, `$1${end}`),
  };
}

function dropAtTheEnd({ kind, query }: FreshDatabase, { reader, writer, tokens }: Names): void {
  onTestFinished(async () => {
    for (const role of [reader, writer]) {
      if (kind === "postgres") await query(`DROP OWNED BY ${role} CASCADE`).catch(() => {});
      if (kind === "postgres") await query(`DROP ROLE IF EXISTS ${role}`);
      else await dropAccounts(query, role);
    }
    if (kind === "postgres") return;
    for (const name of [writer, tokens]) await query(`DROP DATABASE IF EXISTS ${name}`);
  });
}

/** Of all hosts. */
async function dropAccounts(query: FreshDatabase["query"], user: string): Promise<void> {
  const accounts = await query<{ host: string }>(
    `SELECT host AS host FROM mysql.user WHERE user = '${user}'`,
  );
  for (const { host } of accounts) await query(`DROP USER ${user}@'${host}'`);
}

/** As a client does that is given the file: what stands behind the transaction runs by itself. */
async function runScript({ query }: FreshDatabase, sql: string): Promise<void> {
  for (const part of sql.split(/(?<=^COMMIT;)$/m)) await query(part);
}
