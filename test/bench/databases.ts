import type { TenantQuery } from "../../src/adapters/sql/source/tenant-query.ts";
import { mysqlDatabase } from "./databases/mysql.ts";
import { postgresDatabase } from "./databases/postgres.ts";

export type DatabaseKind = "postgres" | "mysql";

/** A database of its own for one benchmark. */
export interface BenchDatabase {
  /** The server's name. */
  readonly name: string;
  readonly url: string;
  /** Makes the database anew, with nothing in it but a customers table of `count` tenants. */
  createCustomers(count: number): Promise<void>;
  /** Adds tenants to the first `count` of them, up to `all`. */
  addCustomers(count: number, all: number): Promise<void>;
  /** Gives the first `count` tenants names that they never had. */
  renameCustomers(count: number): Promise<void>;
  /**
   * Records a group and a token for each tenant, as has been done for the first `count`. Takes the SQL for bucket and
   * digest of a row.
   */
  fillLedger(count: number, row: Pick<TenantQuery, "bucket" | "digest">): Promise<void>;
  countTokens(): Promise<number>;
  /** Does the maintenance of the ledger's tables that the server would do in time. */
  tidy(): Promise<void>;
  /** The name of a program that reads the same rows in the same order. */
  readonly reader: string;
  /** Runs that program to its end. */
  read(): Promise<unknown>;
  drop(): Promise<void>;
}

/** By the url of a server. */
export const DATABASES: Readonly<Record<DatabaseKind, (serverUrl: string) => BenchDatabase>> = {
  postgres: postgresDatabase,
  mysql: mysqlDatabase,
};
