import pg from "pg";

/**
 * PostgreSQL looks names up in each schema of the role's search_path, and whoever may create in one of them can plant a
 * function or an operator there that a statement then runs as its own role. So every statement has one of two forms:
 *
 * - It names its tables with their schemas, and runs with a path that leads to PostgreSQL's own names alone.
 * - It is about a customer's table, whose triggers and policies may need the role's path, or it looks up where that path
 *   leads. Then every function, operator, type and collation in it stands with its schema.
 *
 * The path is set for a transaction and never for the session, which others may get next from a pooler.
 */
const PATH = "pg_catalog, pg_temp";

/** Where a transaction keeps the path that the session came with. */
const KEPT = "'groupsync.search_path'";

/** Pins the path of a transaction that has begun. */
export const PIN = `SELECT pg_catalog.set_config(${KEPT}, pg_catalog.current_setting('search_path'), true);
  SET LOCAL search_path = ${PATH}`;

/** Gives the transaction the role's path back, and pins it again. */
export const UNPIN = `SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting(${KEPT}), true)`;
export const PIN_AGAIN = `SET LOCAL search_path = ${PATH}`;

/** Returns no row: the driver would take it for one of the statement's. */
const PIN_STATEMENT = `SELECT 1 WHERE pg_catalog.set_config('search_path', '${PATH}', true) IS NULL`;

/** Runs one statement with the path pinned, in a transaction of its own and in one round trip. */
export async function pinnedQuery<Row extends object>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
  const results: unknown = await new Promise((resolve, reject) => {
    const callback = (error: Error | null, result: unknown): void =>
      error ? reject(error) : resolve(result);
    client.query(
      new PinnedQuery({ text, values: [...values], queryMode: "extended", callback } as pg.QueryConfig),
    );
  });
  // The pin has a result of its own.
  return [results].flat().at(-1) as pg.QueryResult<Row & pg.QueryResultRow>;
}

/** What the driver's query says to the server: messages that one Sync follows are one transaction. */
interface Protocol {
  parse(message: object): void;
  bind(message: object): void;
  execute(message: object): void;
}

class PinnedQuery extends pg.Query {
  prepare(connection: Protocol): void {
    connection.parse({ text: PIN_STATEMENT });
    connection.bind({});
    connection.execute({});
    Reflect.apply(Reflect.get(pg.Query.prototype, "prepare"), this, [connection]);
  }
}
