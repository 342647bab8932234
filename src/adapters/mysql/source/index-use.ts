import { FEW_ROWS, selectRows, selectRowsOf, type TenantQuery } from "../../sql/source/tenant-query.ts";
import { isAnswer } from "../connection/failures.ts";
import type { MysqlSourceSession } from "./source-session.ts";

/**
 * Two ids that numbers and texts can be, and two for the type uuid. Short, because a column may be too short for a longer
 * one, and the server then plans no read at all.
 */
const PROBES = ["3", "4", "6e6f7465-0000-4000-8000-67726f757073", "6e6f7465-0000-4000-8000-67726f757074"];

/** A line of EXPLAIN: how one table is read. */
interface Access {
  readonly id: number | null;
  readonly table: string | null;
  readonly type: string | null;
  readonly key: string | null;
  readonly ref: string | null;
  readonly rows: number | string | null;
  readonly Extra: string | null;
}

/**
 * Whether an index finds the rows of an id: the id gives a table another access than it has in a read of all rows, and that
 * is by a key.
 */
export const isIndexed = (session: Pick<MysqlSourceSession, "query">, query: TenantQuery): Promise<boolean> =>
  ifExplained(async () => {
    const [one = "", two = ""] = await query.idsHeld(PROBES);
    const accessesBy = (...ids: string[]) => accessesOf(session, selectRowsOf(query, ids));
    const whole = new Set((await accessesOf(session, selectRows(query))).map(accessText));
    const isByNewKey = (access: Access) => isByKey(access) && !whole.has(accessText(access));
    if (!(await accessesBy(one)).some(isByNewKey)) return false;
    // By one id of a unique key, the server notices at once that there is no such row, and shows no plan for other tables.
    return !(await accessesBy(one, two)).some(readsMany);
  });

/** Whether an index finds the rows of a SELECT that begins at a value of a column. */
export const isFoundByIndex = (
  session: Pick<MysqlSourceSession, "query">,
  select: string,
): Promise<boolean> =>
  ifExplained(async () => {
    const accesses = await accessesOf(session, select);
    return accesses.some(isByKey) && !accesses.some(readsMany);
  });

/** False if the user may not EXPLAIN: of a view that takes SHOW VIEW and rights to the tables below. */
async function ifExplained(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch (error) {
    if (!isAnswer(error)) throw error;
    return false;
  }
}

const accessesOf = (session: Pick<MysqlSourceSession, "query">, sql: string): Promise<Access[]> =>
  session.query<Access>(`EXPLAIN FORMAT=TRADITIONAL ${sql}`);

const accessText = ({ id, table, type, key, ref }: Access): string =>
  JSON.stringify([Number(id), table, type, key, ref]);

const BY_KEY: ReadonlySet<string | null> = new Set(["const", "ref", "ref_or_null", "range", "eq_ref"]);

/** A server that finds no row by a unique key says so in place of the table. A table in angle brackets is a result. */
const isByKey = ({ table, type, Extra }: Access): boolean =>
  table === null ? /const table/.test(Extra ?? "") : BY_KEY.has(type) && !table.startsWith("<");

const readsMany = ({ table, type, rows }: Access): boolean =>
  (type === "ALL" || type === "index") && table?.startsWith("<") === false && Number(rows) > FEW_ROWS;
