import { hash } from "node:crypto";
import type { FieldPacket } from "mysql2/promise";
import { MAX_ID_BYTES } from "../../core/id.ts";
import { BUCKETS } from "../../core/tenant.ts";
import type { DescribedRows } from "../sql/described-rows.ts";
import {
  checkRemoved,
  checkWhole,
  missingColumns,
  type Wanted,
  whereAll,
  wrongIdType,
} from "../sql/source-query.ts";
import { type CellType, cellTypeOf } from "./cells.ts";
import { failures } from "./failures.ts";
import { names } from "./names.ts";
import type { ReadingSession } from "./reading-session.ts";

/** In bytes. Longer values are hashed on their own: a CONCAT beyond `max_allowed_packet` is NULL. */
const LONG = 4_096;

/** MySQL's own: MariaDB's JSON is a text. */
const MYSQL_JSON = 245;
/**
 * MySQL sorts JSON along with the ids, whole, and gives up where the buffer can't take one row of it: one tenant would
 * fail all. A packet brings no larger one into the table, unless its limit is raised; the server takes only as much
 * memory as there is to sort.
 */
const ROOM_TO_SORT = `SET SESSION sort_buffer_size =
  CAST(GREATEST(@@SESSION.sort_buffer_size, ${64 * 1024 ** 2}) AS UNSIGNED)`;

/** What is asked of the source's connection. */
export type Queryable = Pick<ReadingSession, "query" | "prepare">;

/** Looks the columns up without reading a row. Throws CONFIG_COLUMNS where they are not what is needed. */
export async function describeRows(connection: Queryable, wanted: Wanted): Promise<DescribedRows> {
  const { relation, where, removedWhen, columns, seed } = wanted;
  const conditions = where === undefined ? [] : [where];
  const [, fields] = await connection.query(`SELECT * FROM ${relation} ${whereAll(conditions)} LIMIT 0`);
  const described = columns.flatMap((column) => {
    const field = fields.find((one) => one.name === column);
    return field ? [{ column, field, type: cellTypeOf(field) }] : [];
  });
  if (described.length < columns.length) {
    throw missingColumns(
      wanted,
      fields.map((field) => field.name),
    );
  }
  if (described.some(({ field }) => field.columnType === MYSQL_JSON)) await connection.query(ROOM_TO_SORT);
  const [id, ...rest] = described as [Described, ...Described[]];
  if (!id.type.isId) throw wrongIdType(id.column, id.type.name);

  // A null says nothing. The line break ends a comment that the predicate may end with.
  const removed = removedWhen === undefined ? undefined : `((${removedWhen}\n) IS TRUE)`;
  if (removed !== undefined) {
    const removedRows = `${relation} ${whereAll([removed])}`;
    await checkRemoved(wanted, failures, () => connection.query(`SELECT 1 FROM ${removedRows} LIMIT 0`));
  }

  await checkWhole(wanted, failures, connection);

  // One character more than an id may have is enough to refuse it, and little enough to sort by.
  const idText = `LEFT(${textOf(id)}, ${MAX_ID_BYTES + 1})`;
  // The same text is another value in a column of another type: '1' is no 1.
  const types = described.map(({ type }) => type.name);
  const typedSeed = hash("sha256", JSON.stringify([seed, ...types]), "base64url");
  const hashed = [`'${typedSeed}'`, `QUOTE(${idText})`, ...rest.map(digestible)].join(", ");
  return {
    relation,
    conditions,
    removed,
    selected: [idText, ...rest.map(textOf)],
    parsers: [(text) => text, ...rest.map(({ type }) => type.parse)],
    order: `${idText} IS NULL, CAST(${idText} AS BINARY)`,
    bucket: `(COALESCE(CRC32(${idText}), 0) & ${BUCKETS - 1})`,
    // Not SHA1 or MD5: MySQL 9.7 doesn't have them unless somebody installs a component.
    digest: `CONV(LEFT(SHA2(CONCAT(${hashed}), 256), 16), 16, -10)`,
  };
}

interface Described {
  readonly column: string;
  readonly field: FieldPacket;
  readonly type: CellType;
}

const textOf = ({ column, type }: Described): string => type.text(names.quoteName(column));

/** Text that shows where it ends: in quotes, or of one length. NULL has no quotes. */
const digestible = (described: Described): string =>
  (described.field.columnLength ?? LONG) < LONG
    ? `QUOTE(${textOf(described)})`
    : `QUOTE(SHA2(${textOf(described)}, 256))`;
