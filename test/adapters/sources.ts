import { mysqlSource } from "./mysql/source-database.ts";
import { postgresSource } from "./postgres/source-database.ts";

/** A source of tenants in either kind of database, by the database's url. */
export const SOURCES = { postgres: postgresSource, mysql: mysqlSource } as const;
