import { hash } from "node:crypto";
import type pg from "pg";
import { MAX_ID_BYTES } from "../../core/id.ts";
import { BUCKETS, Unusable } from "../../core/tenant.ts";
import type { DescribedRows, Parse } from "../sql/described-rows.ts";
import {
  checkRemoved,
  checkWhole,
  missingColumns,
  type Wanted,
  whereAll,
  wrongIdType,
} from "../sql/source-query.ts";
import { canBeLong, ID_TYPES, parsersOf, type TypeInfo } from "./cells.ts";
import { failures } from "./failures.ts";
import { quoteName } from "./names.ts";
import type { ReadingSession } from "./reading-session.ts";

/** In characters: of JSON with blanks in it, too, more than a group may have. */
const LONGEST_TEXT = 2 * 1024 ** 2;

/** What is asked of the source's connection. */
export type Queryable = Pick<ReadingSession, "query">;

/** Looks the columns up without reading a row. Throws CONFIG_COLUMNS where they are not what is needed. */
export async function describeRows(client: Queryable, wanted: Wanted): Promise<DescribedRows> {
  const { relation, where, removedWhen, columns, seed } = wanted;
  const conditions = where === undefined ? [] : [where];
  const { fields } = await client.query(`SELECT * FROM ${relation} ${whereAll(conditions)} LIMIT 0`);
  const found = columns.map((column) => fields.find((field) => field.name === column));
  if (found.includes(undefined)) {
    throw missingColumns(
      wanted,
      fields.map((field) => field.name),
    );
  }

  const types = await describeTypes(client, fields);
  const typeNames = found.map((field) => types.find((type) => type.oid === field?.dataTypeID)?.name);
  const [id, ...rest] = columns as readonly [string, ...string[]];
  const idType = typeNames[0] ?? "unknown";
  if (!ID_TYPES.has(idType)) throw wrongIdType(id, idType);
  // A null says nothing. The line break ends a comment that the predicate may end with.
  const removed = removedWhen === undefined ? undefined : `(${removedWhen}\n) IS TRUE`;
  if (removed !== undefined) {
    const removedRows = `${relation} ${whereAll([removed])}`;
    await checkRemoved(wanted, failures, () => client.query(`SELECT FROM ${removedRows} LIMIT 0`));
  }

  await checkWhole(wanted, failures, {
    query: (statement) => client.query(statement),
    prepare: (statement) => client.query(`EXPLAIN ${statement}`),
  });

  const parserOf = parsersOf(types);
  const idText = `${quoteName(id)}::pg_catalog.text`;
  const { rows } = await client.query<{ server_encoding: string }>("SHOW server_encoding");
  const isUtf8 = rows[0]?.server_encoding === "UTF8";
  // The same text is another value in a column of another type: '1' is no 1.
  const typedSeed = hash("sha256", JSON.stringify([seed, ...typeNames]), "base64url");
  const hashed = `ROW('${typedSeed}', ${[idText, ...rest.map(quoteName)].join(", ")})::pg_catalog.text`;
  return {
    relation,
    conditions,
    removed,
    selected: [
      startOf(idText, MAX_ID_BYTES),
      ...rest.map((name, index) => {
        const column = quoteName(name);
        const isLong = canBeLong(types, found[index + 1]?.dataTypeID ?? 0);
        return isLong ? startOf(`${column}::pg_catalog.text`, LONGEST_TEXT) : column;
      }),
    ],
    parsers: [keepText, ...found.slice(1).map((field) => unlessTooLong(parserOf(field?.dataTypeID ?? 0)))],
    order: isUtf8 ? `${idText} ${BY_BYTES}` : `pg_catalog.convert_to(${idText}, 'UTF8')`,
    bucket: `coalesce(pg_catalog.hashtextextended(${idText} ${BY_BYTES}, 0) OPERATOR(pg_catalog.&) ${BUCKETS - 1}, 0)`,
    digest: `pg_catalog.hashtextextended(${hashed} ${BY_BYTES}, 0)`,
  };
}

/**
 * One character more than a text may have is enough to refuse it. Whoever may write one row could fill this process's
 * memory, and the driver ends it over a text of half a gigabyte.
 */
const startOf = (text: string, length: number): string => `pg_catalog.left(${text}, ${length + 1})`;

const unlessTooLong =
  (parse: Parse): Parse =>
  (text) =>
    text.length > LONGEST_TEXT ? new Unusable(`holds more than ${LONGEST_TEXT} characters`) : parse(text);

const asNumber = (column: string): string => `${column}::pg_catalog.int8::pg_catalog.float8 AS ${column}`;

/** The types of the fields, and those that arrays and domains among them are made of. */
async function describeTypes(client: Queryable, fields: readonly pg.FieldDef[]): Promise<TypeInfo[]> {
  const { rows } = await client.query<TypeInfo>(
    `WITH RECURSIVE described AS (
       SELECT type.oid, type.typname AS name, type.typbasetype AS base, coalesce(element.oid, 0) AS element
       FROM pg_catalog.pg_type AS type
       LEFT JOIN pg_catalog.pg_type AS element ON element.typarray OPERATOR(pg_catalog.=) type.oid),
     needed AS (
       SELECT * FROM described WHERE oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])
       UNION
       SELECT described.* FROM needed JOIN described
         ON described.oid OPERATOR(pg_catalog.=) ANY (ARRAY[needed.base, needed.element]))
     SELECT ${asNumber("oid")}, name, ${asNumber("base")}, ${asNumber("element")} FROM needed`,
    [[...new Set(fields.map((field) => field.dataTypeID))]],
  );
  return rows;
}

const BY_BYTES = 'COLLATE pg_catalog."C"';

const keepText: Parse = (text) => text;
