import pg from "pg";
import type { TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { type SourceOptions, sourceError, wantedOf } from "../sql/source-query.ts";
import { connectionOptions } from "./connection.ts";
import { failures } from "./failures.ts";
import { quoteTable } from "./names.ts";
import { describeRows } from "./tenant-columns.ts";
import { PostgresTenantSnapshot } from "./tenant-snapshot.ts";

/** The snapshot, and text forms that don't depend on the server's settings. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL TimeZone = 'UTC';
  SET LOCAL DateStyle = 'ISO, YMD';
  SET LOCAL IntervalStyle = 'iso_8601';
  SET LOCAL bytea_output = 'hex';
  SET LOCAL extra_float_digits = 1`;

/** Opens snapshots of the tenants, each over a connection of its own. */
export class PostgresTenantSource implements TenantSource {
  readonly #options: SourceOptions;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  async open(columns: readonly string[], seed: string): Promise<TenantSnapshot> {
    const { url, applicationName } = this.#options;
    const wanted = wantedOf(this.#options, { quoteTable }, columns, seed);
    const client = new pg.Client(connectionOptions(url, applicationName));
    // A broken connection rejects the query that waits on it.
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query(BEGIN);
      const rows = await describeRows(client, wanted);
      return new PostgresTenantSnapshot(client, rows, (error) => sourceError(wanted, failures, error));
    } catch (error) {
      await client.end().catch(() => {});
      throw sourceError(wanted, failures, error);
    }
  }
}
