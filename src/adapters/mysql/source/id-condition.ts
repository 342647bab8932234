import { isInteger, isUnicode, isUuid } from "../../sql/connection/id-texts.ts";
import type { TenantQuery } from "../../sql/source/tenant-query.ts";
import { identifiers } from "../connection/identifiers.ts";
import type { DescribedColumn } from "./column-types.ts";
import type { MysqlSourceSession } from "./source-session.ts";

/** How rows are found by their ids. */
export async function idCondition(
  session: Pick<MysqlSourceSession, "query">,
  relation: string,
  { column, field, type }: DescribedColumn,
): Promise<Pick<TenantQuery, "idsHeld" | "hasIdOf">> {
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
