import type { FieldPacket } from "mysql2/promise";
import { MOST_AHEAD_MS, OVERLAP_MS } from "../../../core/changes/change-window.ts";
import { wrongChangeType } from "../../sql/source/change-feed.ts";
import type { ChangeQuery, SourceDialect } from "../../sql/source/source-dialect.ts";
import { identifiers } from "../connection/identifiers.ts";
import { columnTypeOf } from "./column-types.ts";
import { isFoundByIndex } from "./index-use.ts";
import type { MysqlSourceSession } from "./source-session.ts";

/** The server's plan depends on how many rows there are from the position on. */
export const isChangeIndexed: SourceDialect<MysqlSourceSession>["isChangeIndexed"] = (
  session,
  _,
  select,
  from,
) => isFoundByIndex(session, select(from));

const INTEGERS: ReadonlySet<string> = new Set(["tinyint", "smallint", "mediumint", "int", "bigint"]);
const RIGHT_TYPES = "TIMESTAMP, DATETIME, an integer type or DECIMAL";

/** The latest time that counts, by the type. Of which time zone a DATETIME is nobody knows: the farthest is UTC+14. */
const MOST_AHEAD: Readonly<Record<string, string>> = {
  timestamp: `UTC_TIMESTAMP(6) + INTERVAL ${MOST_AHEAD_MS / 1_000} SECOND`,
  datetime: "UTC_TIMESTAMP(6) + INTERVAL 15 HOUR",
};

/** Above '0000-00-00' and other dates that are none. */
const FIRST_TIME = "TIMESTAMP'1971-01-01 00:00:00'";

export function changeQuery(fields: readonly FieldPacket[], column: string): ChangeQuery {
  const type = columnTypeOf(fields[0] as FieldPacket);
  const mostAhead = MOST_AHEAD[type.name];
  const isTime = mostAhead !== undefined;
  if (!isTime && type.name !== "decimal" && !INTEGERS.has(type.name)) {
    throw wrongChangeType(column, RIGHT_TYPES);
  }
  const quoted = identifiers.quoteName(column);
  return {
    type: type.name,
    isTime,
    column: quoted,
    text: type.text(quoted),
    before: isTime ? type.text(`(${quoted} - INTERVAL ${OVERLAP_MS / 1_000} SECOND)`) : type.text(quoted),
    counts: isTime ? `${quoted} BETWEEN ${FIRST_TIME} AND ${mostAhead}` : `${quoted} IS NOT NULL`,
    literal: isTime ? timeLiteral : numberLiteral,
    operator: (symbol) => symbol,
  };
}

/** The texts come from the database itself. They are checked because they stand in SQL without an escape. */
const checked = (text: string, form: RegExp): string => {
  if (!form.test(text)) throw new Error(`${JSON.stringify(text)} is no value of a change column`);
  return text;
};

const timeLiteral = (text: string): string =>
  `TIMESTAMP'${checked(text, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$/)}'`;

const numberLiteral = (text: string): string => checked(text, /^-?\d+(\.\d+)?$/);
