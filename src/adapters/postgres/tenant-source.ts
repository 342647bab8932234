import pg from "pg";
import { describe, SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { connectionOptions } from "./connection.ts";
import { databaseError, isSqlMistake } from "./failures.ts";
import { quoteTable } from "./identifiers.ts";
import { describeRows, type Wanted } from "./tenant-columns.ts";
import { PostgresTenantSnapshot } from "./tenant-snapshot.ts";

export interface PostgresSourceOptions {
  readonly url: Secret;
  readonly applicationName: string;
  /** Exactly one of `table` and `query`. */
  readonly table?: string | undefined;
  readonly query?: string | undefined;
  /** An SQL predicate on the table's rows. */
  readonly where?: string | undefined;
  /** An SQL predicate that is true of the rows whose tenants are gone. */
  readonly removedWhen?: string | undefined;
}

/** The snapshot, and text forms that don't depend on the server's settings. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL TimeZone = 'UTC';
  SET LOCAL DateStyle = 'ISO, YMD';
  SET LOCAL IntervalStyle = 'iso_8601';
  SET LOCAL bytea_output = 'hex';
  SET LOCAL extra_float_digits = 1`;

/** Opens snapshots of the tenants, each over a connection of its own. */
export class PostgresTenantSource implements TenantSource {
  readonly #options: PostgresSourceOptions;

  constructor(options: PostgresSourceOptions) {
    this.#options = options;
  }

  async open(columns: readonly string[], seed: string): Promise<TenantSnapshot> {
    const { url, applicationName, table, removedWhen } = this.#options;
    const name = table ?? "source.query";
    const client = new pg.Client(connectionOptions(url, applicationName));
    // A broken connection rejects the query that waits on it.
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query(BEGIN);
      const rows = await describeRows(client, {
        name,
        ...placeOf(this.#options),
        removedWhen,
        columns,
        seed,
      });
      return new PostgresTenantSnapshot(client, rows, (error) => sourceError(name, error));
    } catch (error) {
      await client.end().catch(() => {});
      throw sourceError(name, error);
    }
  }
}

function placeOf({ table, query, where }: PostgresSourceOptions): Pick<Wanted, "relation" | "where"> {
  if (table !== undefined) return { relation: quoteTable(table), where };
  // The line break ends a comment that the query may end with.
  return { relation: `(${query?.replace(/[\s;]+$/, "")}\n) AS tenants` };
}

function sourceError(name: string, error: unknown): SyncError {
  if (!isSqlMistake(error)) return databaseError("SOURCE_UNAVAILABLE", `cannot read ${name}`, error);
  return new SyncError("CONFIG_SOURCE", `cannot read ${name}: ${describe(error)}`, {
    hint: "check source.where, source.query and source.removed_when: they are SQL of this database",
    cause: error,
  });
}
