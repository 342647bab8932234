import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { type DatabaseKind, type FreshDatabase, SERVERS } from "./fresh-database.ts";

export interface Role {
  readonly name: string;
  /** The test's database, as this role. */
  readonly url: string;
  /** Lets it do this to every table that is there now, e.g. "SELECT, INSERT". */
  grant(rights: string): Promise<void>;
  /** Runs statements in one session of its own. */
  run(...statements: readonly string[]): Promise<void>;
}

interface RoleStatements {
  create(name: string, password: string, database: string): readonly string[];
  grant(name: string, rights: string, database: string): string;
  drop(name: string): readonly string[];
}

const STATEMENTS: Readonly<Record<DatabaseKind, RoleStatements>> = {
  postgres: {
    create: (name, password) => [`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`],
    grant: (name, rights) => `GRANT ${rights} ON ALL TABLES IN SCHEMA public TO ${name}`,
    drop: (name) => [`DROP OWNED BY ${name}`, `DROP ROLE ${name}`],
  },
  mysql: {
    // Nobody gets into a database without any right in it.
    create: (name, password, database) => [
      `CREATE USER ${name} IDENTIFIED BY '${password}'`,
      `GRANT SHOW VIEW ON ${database}.* TO ${name}`,
    ],
    grant: (name, rights, database) => `GRANT ${rights} ON ${database}.* TO ${name}`,
    drop: (name) => [`DROP USER ${name}`],
  },
};

/** A role that may log in to the database and do nothing there yet; it is gone when the test is over. */
export async function aRole({ kind, name: database, url, query }: FreshDatabase): Promise<Role> {
  const statements = STATEMENTS[kind];
  const name = `gs_test_${randomBytes(6).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  for (const statement of statements.create(name, password, database)) await query(statement);
  onTestFinished(async () => {
    for (const statement of statements.drop(name)) await query(statement);
  });
  const own = new URL(url);
  own.username = name;
  own.password = password;
  return {
    name,
    url: own.href,
    grant: async (rights) => {
      await query(statements.grant(name, rights, database));
    },
    run: async (...all) => {
      const session = SERVERS[kind].connect(own.href);
      try {
        for (const statement of all) await session.query(statement);
      } finally {
        await session.end();
      }
    },
  };
}

/** PostgreSQL: a role that can't log in, with this at the end of its name; it is gone when the test is over. */
export async function aGroup({ query }: FreshDatabase, suffix: string): Promise<string> {
  const name = `gs_test_${randomBytes(6).toString("hex")}_${suffix}`;
  await query(`CREATE ROLE ${name}`);
  onTestFinished(async () => {
    for (const statement of STATEMENTS.postgres.drop(name)) await query(statement);
  });
  return name;
}

/** The tables that a test makes belong to the user of its database. */
export const makerOf = ({ url }: Pick<FreshDatabase, "url">): string =>
  decodeURIComponent(new URL(url).username);
