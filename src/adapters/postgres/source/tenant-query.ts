import { escapeLiteral, type FieldDef } from "pg";
import { BUCKETS, MAX_ID_BYTES, Unusable } from "../../../core/group/tenant.ts";
import { isInteger, isUnicode, isUuid } from "../../sql/connection/id-texts.ts";
import { asText, type CellParser } from "../../sql/source/cells.ts";
import { wrongIdType } from "../../sql/source/columns.ts";
import type { SourceRequest } from "../../sql/source/source-dialect.ts";
import {
  type DialectQuery,
  marksOf,
  ofReadyRows,
  ofRowsNotReady,
  typedSeed,
} from "../../sql/source/tenant-query.ts";
import { isAnswer } from "../connection/failures.ts";
import { equalityOf, ID_TYPES, typeName } from "../connection/id-types.ts";
import { quoteName } from "../connection/identifiers.ts";
import { canBeLong, parsersOf, type TypeInfo } from "./column-types.ts";
import type { PostgresSourceSession } from "./source-session.ts";

/** In characters. More than a group may have, even if the text is JSON with blanks in it. */
const LONGEST_TEXT = 2 * 1024 ** 2;

type Session = Pick<PostgresSourceSession, "query">;

export async function tenantQuery(
  session: Session,
  request: SourceRequest,
  fields: readonly FieldDef[],
): Promise<DialectQuery> {
  const { columns, seed } = request;
  const { notReady } = marksOf(request);
  const types = await describeTypes(session, fields);
  const typeNames = fields.map((field) => types.find((type) => type.oid === field.dataTypeID)?.name);
  const [id, ...rest] = columns as readonly [string, ...string[]];
  const idType = typeNames[0] ?? "unknown";
  if (!ID_TYPES.has(idType)) throw wrongIdType(id, idType);

  const parserOf = parsersOf(types);
  const idText = `${quoteName(id)}::pg_catalog.text`;
  const typeSchema = types.find(({ oid }) => oid === fields[0]?.dataTypeID)?.schema ?? "pg_catalog";
  const encoding = await serverEncoding(session);
  const isRaw = encoding === "SQL_ASCII";
  // Text has the order of UTF-8's bytes, and every id fits.
  const isUtf8 = encoding === "UTF8" || isRaw;
  const ofText = isRaw ? ifUtf8 : (parse: CellParser) => parse;
  const row = [`'${typedSeed(seed, typeNames)}'`, idText, ...rest.map(quoteName)].join(", ");
  const bucket = `coalesce(pg_catalog.hashtextextended(${idText} ${BY_BYTES}, 0) OPERATOR(pg_catalog.&) ${BUCKETS - 1}, 0)`;
  const digest = `pg_catalog.hashtextextended(ROW(${row})::pg_catalog.text ${BY_BYTES}, 0)`;
  return {
    selected: [
      startOf(idText, MAX_ID_BYTES),
      ...rest.map((name, index) => {
        const column = quoteName(name);
        const isLong = canBeLong(types, fields[index + 1]?.dataTypeID ?? 0);
        return isLong ? startOf(`${column}::pg_catalog.text`, LONGEST_TEXT) : column;
      }),
    ],
    parsers: [
      isRaw ? rawId : asText,
      ...fields.slice(1).map((field) => ofText(unlessTooLong(parserOf(field.dataTypeID)))),
    ],
    order: isUtf8 ? `${idText} ${BY_BYTES}` : `pg_catalog.convert_to(${idText}, 'UTF8')`,
    bucket,
    digest,
    // The UNION adds no row. It hides from the planner how `bucket` is computed: for an expression, PostgreSQL expects as
    // many buckets as rows, and then has one process compute all digests.
    selectSums: (from) => `SELECT bucket::pg_catalog.int4 AS bucket,
        pg_catalog.count(digest)::pg_catalog.int4 AS rows,
        coalesce(pg_catalog.sum(digest), 0)::pg_catalog.text AS sum,
        pg_catalog.count(waiting)::pg_catalog.int4 AS "notReady"
      FROM (
        SELECT ${bucket} AS bucket, ${ofReadyRows(notReady, digest)} AS digest, ${ofRowsNotReady(notReady)} AS waiting
        ${from}
        UNION ALL SELECT NULL, NULL, NULL WHERE FALSE) AS tenants
      GROUP BY bucket`,
    inBuckets: (buckets) =>
      `${bucket} OPERATOR(pg_catalog.=) ANY ('{${buckets.join(", ")}}'::pg_catalog.int8[])`,
    ...idCondition(session, { column: id, type: idType, typeSchema, isUtf8 }),
  };
}

/**
 * One character more than a text may have is enough to refuse it. Without this limit, one row could fill this process's
 * memory, and a text of half a gigabyte makes the driver end the process.
 */
const startOf = (text: string, length: number): string => `pg_catalog.left(${text}, ${length + 1})`;

const unlessTooLong =
  (parse: CellParser): CellParser =>
  (text) =>
    text.length > LONGEST_TEXT ? new Unusable(`holds more than ${LONGEST_TEXT} characters`) : parse(text);

/** What the driver reads for bytes that are not UTF-8. */
const NOT_UTF8 = "\ufffd";
const HOLDS_BYTES = "holds bytes that are not UTF-8";

const ifUtf8 =
  (parse: CellParser): CellParser =>
  (text) =>
    text.includes(NOT_UTF8) ? new Unusable(HOLDS_BYTES) : parse(text);

/** Says what can be read of the id: nothing else tells which row it is. */
const rawId: CellParser = (text) =>
  text.includes(NOT_UTF8) ? new Unusable(`${HOLDS_BYTES}: ${JSON.stringify(text)}`) : text;

const asNumber = (column: string): string => `${column}::pg_catalog.int8::pg_catalog.float8 AS ${column}`;

async function serverEncoding(session: Session): Promise<string | undefined> {
  const [server] = await session.query<{ encoding: string }>(
    "SELECT pg_catalog.current_setting('server_encoding') AS encoding",
  );
  return server?.encoding;
}

/** The types of the fields, and the types that their arrays and domains are made of. */
async function describeTypes(session: Session, fields: readonly FieldDef[]): Promise<TypeInfo[]> {
  return session.query<TypeInfo>(
    `WITH RECURSIVE described AS (
       SELECT type.oid, ${typeName("type")} AS name, n.nspname::pg_catalog.text AS schema, type.typbasetype AS base,
         coalesce(element.oid, 0) AS element
       FROM pg_catalog.pg_type AS type
       JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) type.typnamespace
       LEFT JOIN pg_catalog.pg_type AS element ON element.typarray OPERATOR(pg_catalog.=) type.oid),
     needed AS (
       SELECT * FROM described WHERE described.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])
       UNION
       SELECT described.* FROM needed JOIN described
         ON described.oid OPERATOR(pg_catalog.=) ANY (ARRAY[needed.base, needed.element]))
     SELECT ${asNumber("oid")}, name, schema, ${asNumber("base")}, ${asNumber("element")} FROM needed`,
    [[...new Set(fields.map((field) => field.dataTypeID))]],
  );
}

const BY_BYTES = 'COLLATE pg_catalog."C"';

interface IdColumn {
  readonly column: string;
  /** Of a domain: the type below. */
  readonly type: string;
  readonly typeSchema: string;
  /** Whether the server keeps text as UTF-8. Other encodings lack characters that an id may have. */
  readonly isUtf8: boolean;
}

/** How rows are found by their ids. The names in the SQL don't depend on the role's search_path. */
function idCondition(
  session: Pick<PostgresSourceSession, "query">,
  { column, type, typeSchema, isUtf8 }: IdColumn,
): Pick<DialectQuery, "idsHeld" | "hasIdOf"> {
  const equality = equalityOf(type, typeSchema);
  const isHeld = heldBy(type);
  return {
    idsHeld: async (ids) => {
      const held = ids.filter(isHeld);
      return isUtf8 ? held : storable(session, held);
    },
    hasIdOf: (ids) =>
      `${quoteName(column)} ${equality.operator} ANY (${escapeLiteral(arrayText(ids))}::${equality.type}[])`,
  };
}

const INTEGER_BITS: Readonly<Record<string, number>> = { int2: 16, int4: 32, int8: 64 };

function heldBy(type: string): (id: string) => boolean {
  const bits = INTEGER_BITS[type];
  if (bits !== undefined) return isInteger(bits);
  if (type === "uuid") return isUuid;
  return (id) => isUnicode(id) && !id.includes("\0");
}

const arrayText = (ids: readonly string[]): string =>
  `{${ids.map((id) => `"${id.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;

const ASCII = /^[\0-\x7f]*$/;

/** The ids that the server's encoding has all characters of. Every encoding has those of ASCII; the server knows the others. */
async function storable(
  session: Pick<PostgresSourceSession, "query">,
  ids: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const id of ids) if (ASCII.test(id) || (await understands(session, id))) found.push(id);
  return found;
}

async function understands(session: Pick<PostgresSourceSession, "query">, text: string): Promise<boolean> {
  await session.query("SAVEPOINT understands");
  try {
    await session.query("SELECT $1::pg_catalog.text", [text]);
    return true;
  } catch (error) {
    if (!isAnswer(error)) throw error;
    return false;
  } finally {
    await session.query("ROLLBACK TO SAVEPOINT understands");
  }
}
