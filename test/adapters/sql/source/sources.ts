import { mysqlSource } from "../../mysql/source/source-database.ts";
import { postgresSource } from "../../postgres/source/source-database.ts";

/** A source of tenants in either kind of database, by the database's url. */
export const SOURCES = { postgres: postgresSource, mysql: mysqlSource } as const;
