import pg from "pg";

/**
 * Sets configuration parameters of PostgreSQL for the transaction. Returns no row, because the driver would take the row
 * for one of the next statement's. `others` are more calls of set_config.
 */
export function setLocally(settings: Readonly<Record<string, string>>, ...others: string[]): string {
  const set = Object.entries(settings).map(
    ([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`,
  );
  return `SELECT 1 WHERE ${[...set, ...others].map((call) => `${call} IS NULL`).join(" OR ")}`;
}

/**
 * A call of set_config. A database in SQL_ASCII takes any bytes as text, and fails to send as UTF-8 what isn't: one such
 * value would end a read. So its session sends the bytes as they are, and the driver reads U+FFFD for those that are not
 * UTF-8.
 */
export const textOrBytes = (until: "end of transaction" | "end of session"): string =>
  `pg_catalog.set_config('client_encoding',
     CASE WHEN pg_catalog.current_setting('server_encoding') OPERATOR(pg_catalog.=) 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END,
     ${until === "end of transaction"})`;

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
