import pg from "pg";
import { BEGIN, setLocally } from "./settings.ts";

/** What the server is sent before and after a statement, in the same round trip. */
interface Transaction {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The statements of one round trip are one transaction. `before` returns no row. */
export const reading = (before = setLocally({})): Transaction => ({ before: [before], after: [] });

/**
 * A role or a database may have transactions read-only by default, and only BEGIN is in time to ask for another one. If
 * the statement fails, the transaction stays open: the connection has to be closed.
 */
export const writing = (before = setLocally({})): Transaction => ({
  before: [BEGIN, before],
  after: ["COMMIT"],
});

/** Runs a query in a transaction of its own, and in one round trip. */
export async function inOneRoundTrip<Row>(
  client: pg.ClientBase,
  transaction: Transaction,
  query: pg.QueryConfig & Pick<Partial<pg.QueryArrayConfig>, "rowMode">,
): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
  const results: unknown = await new Promise((resolve, reject) => {
    const callback = (error: Error | null, result: unknown): void =>
      error ? reject(error) : resolve(result);
    const config = { ...query, queryMode: "extended", callback } as pg.QueryConfig;
    client.query(new QueryInTransaction(config, transaction));
  });
  // Each of the other statements has a result, too.
  return [results].flat().at(-1 - transaction.after.length) as pg.QueryResult<Row & pg.QueryResultRow>;
}

/** The driver's messages to the server. Messages with one Sync at the end run in one transaction, or in that of a BEGIN. */
interface Protocol {
  parse(message: object): void;
  bind(message: object): void;
  execute(message: object): void;
  sync(): void;
}

class QueryInTransaction extends pg.Query {
  readonly #transaction: Transaction;

  constructor(config: pg.QueryConfig, transaction: Transaction) {
    super(config);
    this.#transaction = transaction;
  }

  prepare(connection: Protocol): void {
    const { before, after } = this.#transaction;
    for (const text of before) send(connection, text);
    // The driver's own messages end with the Sync.
    const upToSync = Object.create(connection, {
      sync: {
        value: () => {
          for (const text of after) send(connection, text);
          connection.sync();
        },
      },
    });
    Reflect.apply(Reflect.get(pg.Query.prototype, "prepare"), this, [upToSync]);
  }
}

function send(connection: Protocol, text: string): void {
  connection.parse({ text });
  connection.bind({});
  connection.execute({});
}
