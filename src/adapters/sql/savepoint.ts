import type { Queryable } from "./connections.ts";
import type { Failures } from "./failures.ts";

/** Runs `body` and, where the data is refused, `otherwise`: the transaction is as good then as it was before. */
export async function orElse<T>(
  { isDataError }: Pick<Failures, "isDataError">,
  connection: Queryable,
  body: () => Promise<T>,
  otherwise: (error: unknown) => Promise<T>,
): Promise<T> {
  await connection.query("SAVEPOINT groupsync");
  try {
    const result = await body();
    await connection.query("RELEASE SAVEPOINT groupsync");
    return result;
  } catch (error) {
    if (!isDataError(error)) throw error;
    await connection.query("ROLLBACK TO SAVEPOINT groupsync");
    await connection.query("RELEASE SAVEPOINT groupsync");
    return otherwise(error);
  }
}

/**
 * Runs `body` for all items at once; where the data of one is refused, for each on its own. Those that are
 * refused on their own are given to `refused`, and the transaction goes on. Resolves to all results together.
 */
export function togetherOrEach<Item, Result>(
  failures: Pick<Failures, "isDataError">,
  connection: Queryable,
  items: readonly Item[],
  body: (items: readonly Item[]) => Promise<readonly Result[]>,
  refused: (item: Item, error: unknown) => Result,
): Promise<readonly Result[]> {
  return orElse(
    failures,
    connection,
    () => body(items),
    async (error) => {
      const [only, ...others] = items;
      if (only !== undefined && others.length === 0) return [refused(only, error)];
      const results: Result[] = [];
      for (const item of items)
        results.push(...(await togetherOrEach(failures, connection, [item], body, refused)));
      return results;
    },
  );
}
