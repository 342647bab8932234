import { escapeLiteral } from "pg";
import { isInteger, isUnicode, isUuid } from "../../sql/connection/id-texts.ts";
import type { TenantQuery } from "../../sql/source/tenant-query.ts";
import { isAnswer } from "../connection/failures.ts";
import { equalityOf } from "../connection/id-types.ts";
import { quoteName } from "../connection/identifiers.ts";
import type { PostgresSourceSession } from "./source-session.ts";

interface IdColumn {
  readonly column: string;
  /** Of a domain: the type below. */
  readonly type: string;
  readonly typeSchema: string;
  /** Whether the server keeps text as UTF-8. Other encodings lack characters that an id may have. */
  readonly isUtf8: boolean;
}

/** How rows are found by their ids. The names in the SQL don't depend on the role's search_path. */
export function idCondition(
  session: Pick<PostgresSourceSession, "query">,
  { column, type, typeSchema, isUtf8 }: IdColumn,
): Pick<TenantQuery, "idsHeld" | "hasIdOf"> {
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
