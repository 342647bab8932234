import pg from "pg";

/**
 * Sets configuration parameters of PostgreSQL for the transaction. Returns no row, because the driver would take the row
 * for one of the next statement's.
 */
export function setLocally(settings: Readonly<Record<string, string>>): string {
  const set = Object.entries(settings).map(
    ([name, value]) => `pg_catalog.set_config('${name}', '${value}', true) IS NULL`,
  );
  return `SELECT 1 WHERE ${set.join(" OR ")}`;
}

/** Runs a query after a statement that returns no row: both in a transaction of their own, and in one round trip. */
export async function inOneRoundTrip<Row>(
  client: pg.ClientBase,
  before: string,
  query: pg.QueryConfig & Pick<Partial<pg.QueryArrayConfig>, "rowMode">,
): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
  const results: unknown = await new Promise((resolve, reject) => {
    const callback = (error: Error | null, result: unknown): void =>
      error ? reject(error) : resolve(result);
    const config = { ...query, queryMode: "extended", callback } as pg.QueryConfig;
    client.query(new FollowingQuery(config, before));
  });
  // The first of two results is that of the statement before.
  return [results].flat().at(-1) as pg.QueryResult<Row & pg.QueryResultRow>;
}

/** The driver's messages to the server. Messages with one Sync at the end run in one transaction. */
interface Protocol {
  parse(message: object): void;
  bind(message: object): void;
  execute(message: object): void;
}

class FollowingQuery extends pg.Query {
  readonly #before: string;

  constructor(config: pg.QueryConfig, before: string) {
    super(config);
    this.#before = before;
  }

  prepare(connection: Protocol): void {
    connection.parse({ text: this.#before });
    connection.bind({});
    connection.execute({});
    Reflect.apply(Reflect.get(pg.Query.prototype, "prepare"), this, [connection]);
  }
}
