import type { FieldPacket } from "mysql2/promise";
import { BUCKETS, MAX_ID_BYTES } from "../../../core/group/tenant.ts";
import { isInteger, isUnicode, isUuid } from "../../sql/connection/id-texts.ts";
import { asText } from "../../sql/source/cells.ts";
import { wrongIdType } from "../../sql/source/columns.ts";
import type { SourceRequest } from "../../sql/source/source-dialect.ts";
import {
  type DialectQuery,
  marksOf,
  ofReadyRows,
  ofRowsNotReady,
  typedSeed,
} from "../../sql/source/tenant-query.ts";
import { identifiers } from "../connection/identifiers.ts";
import { columnTypeOf, type DescribedColumn } from "./column-types.ts";
import type { MysqlSourceSession } from "./source-session.ts";

/** In bytes. A digest takes the hash of a longer value: a CONCAT beyond `max_allowed_packet` is NULL. */
const LONG = 4_096;

/** MySQL's number for its JSON type. MariaDB's JSON is a text. */
const MYSQL_JSON = 245;
/**
 * MySQL sorts whole JSON values along with the ids, and gives up if one row doesn't fit into the sort buffer: one
 * tenant would fail the read. By default no packet can bring a larger value than this into the table. The server
 * allocates only what a sort needs.
 */
const ROOM_TO_SORT = `SET SESSION sort_buffer_size =
  CAST(GREATEST(@@SESSION.sort_buffer_size, ${64 * 1024 ** 2}) AS UNSIGNED)`;

export async function tenantQuery(
  session: Pick<MysqlSourceSession, "query">,
  request: SourceRequest,
  fields: readonly FieldPacket[],
): Promise<DialectQuery> {
  const { relation, seed } = request;
  const { notReady } = marksOf(request);
  const described = fields.map((field) => ({ column: field.name, field, type: columnTypeOf(field) }));
  if (described.some(({ field }) => field.columnType === MYSQL_JSON)) await session.query(ROOM_TO_SORT);
  const [id, ...rest] = described as [DescribedColumn, ...DescribedColumn[]];
  if (!id.type.isId) throw wrongIdType(id.column, id.type.name);

  // One character more than an id may have is enough to reject the row, and little enough to sort by.
  const idText = `LEFT(${textOf(id)}, ${MAX_ID_BYTES + 1})`;
  const types = described.map(({ type }) => type.name);
  const hashed = [`'${typedSeed(seed, types)}'`, `QUOTE(${idText})`, ...rest.map(digestible)].join(", ");
  const bucket = `(COALESCE(CRC32(${idText}), 0) & ${BUCKETS - 1})`;
  // Not SHA1 or MD5: MySQL 9.7 has them only if somebody installs a component.
  const digest = `CONV(LEFT(SHA2(CONCAT(${hashed}), 256), 16), 16, -10)`;
  return {
    selected: [idText, ...rest.map(textOf)],
    parsers: [asText, ...rest.map(({ type }) => type.parse)],
    order: `${idText} IS NULL, CAST(${idText} AS BINARY)`,
    bucket,
    digest,
    // GROUP BY the column's position: its name could be one of the customer's columns.
    selectSums: (from) => `SELECT ${bucket} AS bucket, COUNT(${ofReadyRows(notReady, "1")}) AS \`rows\`,
        CAST(COALESCE(SUM(CAST(${ofReadyRows(notReady, digest)} AS SIGNED)), 0) AS CHAR) AS sum,
        COUNT(${ofRowsNotReady(notReady)}) AS \`notReady\`
      ${from} GROUP BY 1`,
    // -1 is no bucket: it keeps the list from being empty.
    inBuckets: (buckets) => `${bucket} IN (${[-1, ...buckets].join(", ")})`,
    ...(await idCondition(session, relation, id)),
  };
}

const textOf = ({ column, type }: DescribedColumn): string => type.text(identifiers.quoteName(column));

/** Text that shows where it ends: it is in quotes. NULL has no quotes. */
const digestible = (described: DescribedColumn): string =>
  (described.field.columnLength ?? LONG) < LONG
    ? `QUOTE(${textOf(described)})`
    : `QUOTE(SHA2(${textOf(described)}, 256))`;

/** How rows are found by their ids. */
async function idCondition(
  session: Pick<MysqlSourceSession, "query">,
  relation: string,
  { column, field, type }: DescribedColumn,
): Promise<Pick<DialectQuery, "idsHeld" | "hasIdOf">> {
  const name = identifiers.quoteName(column);
  const { isHeld, literal } = await idValues(session, relation, name, { field, type });
  return {
    idsHeld: async (ids) => ids.filter(isHeld),
    hasIdOf: (ids) => `${name} IN (${ids.map(literal).join(", ")})`,
  };
}

interface IdValues {
  readonly isHeld: (id: string) => boolean;
  /** A value of the column's own type: only then an index serves, and no two ids are compared as rounded numbers. */
  readonly literal: (id: string) => string;
}

const UNSIGNED = 32;

async function idValues(
  session: Pick<MysqlSourceSession, "query">,
  relation: string,
  name: string,
  { field, type }: Pick<DescribedColumn, "field" | "type">,
): Promise<IdValues> {
  if (type.bits !== undefined) {
    const unsigned = (Number(field.flags) & UNSIGNED) !== 0;
    return { isHeld: isInteger(type.bits, unsigned), literal: (id) => id };
  }
  if (type.name === "uuid") return { isHeld: isUuid, literal: (id) => `CAST('${id}' AS UUID)` };
  // The server tells the collation of a column only of a value. An aggregate has a value even without a row.
  const [text] = await session.query<{ charset: string; collation: string }>(
    `SELECT CHARSET(MAX(${name})) AS charset, COLLATION(MAX(${name})) AS collation FROM ${relation} WHERE FALSE`,
  );
  return {
    isHeld: isUnicode,
    // In hexadecimal, because the customer's sql_mode decides what a backslash means. A character that the column's
    // charset lacks becomes a question mark, and so finds another id at most.
    literal: (id) =>
      `CONVERT(_utf8mb4 x'${Buffer.from(id).toString("hex")}' USING ${text?.charset}) COLLATE ${text?.collation}`,
  };
}
