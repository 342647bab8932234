import pg from "pg";
import { describe, SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { TenantRow } from "../../core/tenant.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";
import { ID_TYPES, type Parse, parsersOf, type TypeInfo } from "./cells.ts";
import { readCursor } from "./database.ts";
import { databaseError, isSqlMistake } from "./failures.ts";
import { quoteName, quoteTable } from "./identifiers.ts";

export interface PostgresSourceOptions {
  readonly url: Secret;
  readonly applicationName: string;
  /** Exactly one of `table` and `query`. */
  readonly table?: string | undefined;
  readonly query?: string | undefined;
  /** An SQL predicate on the table's rows. */
  readonly where?: string | undefined;
}

const BATCH = 2_000;

/** The snapshot, and text forms that don't depend on the server's settings. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL TimeZone = 'UTC';
  SET LOCAL DateStyle = 'ISO, YMD';
  SET LOCAL IntervalStyle = 'iso_8601';
  SET LOCAL extra_float_digits = 1`;

/** Reads the tenants over a connection of its own, which is closed before anything else goes on. */
export class PostgresTenantSource implements TenantSource {
  readonly #options: PostgresSourceOptions;

  constructor(options: PostgresSourceOptions) {
    this.#options = options;
  }

  async *rows(columns: readonly string[]): AsyncGenerator<readonly TenantRow[]> {
    const { url, applicationName } = this.#options;
    const client = new pg.Client({
      connectionString: url.reveal(),
      application_name: applicationName,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    // A broken connection rejects the query that waits on it.
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query(BEGIN);
      const { text, parsers } = await this.#statement(client, columns);
      const types = { getTypeParser: () => keepText };
      const batches = readCursor<(string | null)[]>(client, text, [], { rowMode: "array", types }, BATCH);
      for await (const batch of batches) yield batch.map((row) => cellsOf(row, parsers));
      await client.query("COMMIT");
    } catch (error) {
      if (isSqlMistake(error)) {
        throw new SyncError("CONFIG_SOURCE", `cannot read ${this.#name}: ${describe(error)}`, {
          hint: "check source.where and source.query: they are SQL of this database",
          cause: error,
        });
      }
      throw databaseError("SOURCE_UNAVAILABLE", `cannot read ${this.#name}`, error);
    } finally {
      await client.end().catch(() => {});
    }
  }

  get #name(): string {
    return this.#options.table ?? "source.query";
  }

  /** The rows to read from, as something that can stand after FROM. */
  get #relation(): string {
    const { table, query, where } = this.#options;
    // The line breaks end a comment that the predicate or the query may end with.
    if (table === undefined) return `(${query?.replace(/[\s;]+$/, "")}\n) AS tenants`;
    const rows = quoteTable(table);
    return where === undefined
      ? `${rows} AS tenants`
      : `(SELECT * FROM ${rows} WHERE (${where}\n)) AS tenants`;
  }

  async #statement(
    client: pg.Client,
    columns: readonly string[],
  ): Promise<{ readonly text: string; readonly parsers: readonly Parse[] }> {
    const { fields } = await client.query(`SELECT * FROM ${this.#relation} LIMIT 0`);
    const wanted = columns.map((column) => fields.find((field) => field.name === column));
    if (wanted.includes(undefined)) throw this.#missingColumns(columns, fields);

    const types = await describeTypes(client, fields);
    const [id, ...rest] = columns as readonly [string, ...string[]];
    this.#checkIdType(id, types.find((type) => type.oid === wanted[0]?.dataTypeID)?.name);

    const parserOf = parsersOf(types);
    const idText = `tenants.${quoteName(id)}::text`;
    const { rows } = await client.query<{ server_encoding: string }>("SHOW server_encoding");
    const isUtf8 = rows[0]?.server_encoding === "UTF8";
    const order = isUtf8 ? `${idText} COLLATE "C"` : `convert_to(${idText}, 'UTF8')`;
    const selected = [idText, ...rest.map((column) => `tenants.${quoteName(column)}`)];
    return {
      text: `SELECT ${selected.join(", ")} FROM ${this.#relation} ORDER BY ${order}`,
      parsers: [keepText, ...wanted.slice(1).map((field) => parserOf(field?.dataTypeID ?? 0))],
    };
  }

  #missingColumns(columns: readonly string[], fields: readonly pg.FieldDef[]): SyncError {
    const there = fields.map((field) => field.name);
    const missing = columns.filter((column) => !there.includes(column));
    return new SyncError("CONFIG_COLUMNS", `${this.#name} has no column ${missing.join(", ")}`, {
      hint: `its columns, as the group rules have to write them: ${there.join(", ")}`,
    });
  }

  #checkIdType(column: string, type: string | undefined): void {
    if (type !== undefined && ID_TYPES.has(type)) return;
    throw new SyncError("CONFIG_COLUMNS", `group.id: column ${column} is of type ${type ?? "unknown"}`, {
      hint: "an id is a text, integer or uuid column; a query can cast another type to text",
    });
  }
}

/** The types of the fields, and those that arrays and domains among them are made of. */
async function describeTypes(client: pg.Client, fields: readonly pg.FieldDef[]): Promise<TypeInfo[]> {
  const { rows } = await client.query<TypeInfo>(
    `WITH RECURSIVE described AS (
       SELECT type.oid, type.typname AS name, type.typbasetype AS base, coalesce(element.oid, 0) AS element
       FROM pg_type AS type LEFT JOIN pg_type AS element ON element.typarray = type.oid),
     needed AS (
       SELECT * FROM described WHERE oid = ANY ($1)
       UNION
       SELECT described.* FROM needed JOIN described ON described.oid IN (needed.base, needed.element))
     SELECT oid::int8::float8 AS oid, name, base::int8::float8 AS base, element::int8::float8 AS element
     FROM needed`,
    [[...new Set(fields.map((field) => field.dataTypeID))]],
  );
  return rows;
}

const keepText = (text: string): string => text;

const cellsOf = (row: readonly (string | null)[], parsers: readonly Parse[]): TenantRow =>
  row.map((text, index) => (text === null ? null : (parsers[index] as Parse)(text)));
