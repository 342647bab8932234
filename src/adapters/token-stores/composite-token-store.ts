import type { SyncError } from "../../core/failure/sync-error.ts";
import { laggingIn, type Refusals, refusalIn, refusalsIn } from "../../core/tokens/token-copies.ts";
import type { OutsideStore, TokenStore, TokenTables } from "../../ports/token-store.ts";

/** Several token stores used as one. A token counts as stored only if all of them have it. */
export function compositeTokenStore(stores: readonly TokenStore[]): TokenStore {
  const outside = stores.flatMap((store) => store.outside ?? []);
  const tables = stores.flatMap((store) => store.tables ?? []);
  return {
    outside: outside.length > 0 ? together(outside) : undefined,
    tables: tables.length > 0 ? inTurn(tables) : undefined,
    get destinations() {
      return stores.flatMap(({ destinations }) => destinations);
    },
    async prepare(signal) {
      for (const store of stores) await store.prepare(signal);
    },
    async inspect() {
      for (const store of stores) await store.inspect();
    },
    /** Each token comes from the first store that has it. */
    async read(ids, signal) {
      const copies = await Promise.all(stores.map((store) => store.read(ids, signal)));
      return new Map(copies.toReversed().flatMap((copy) => [...copy]));
    },
    async lagging(expected, signal) {
      const ids = [...expected.keys()];
      return laggingIn(expected, await Promise.all(stores.map((store) => store.read(ids, signal))));
    },
  };
}

const together = (stores: readonly OutsideStore[]): OutsideStore => ({
  put: async (token, options) => refusalIn(await allOf(stores.map((store) => store.put(token, options)))),
  drop: async (id, options) =>
    (await allOf(stores.map((store) => store.drop(id, options)))).find((refusal) => refusal !== undefined),
});

/** Rejects with the first error, once every call has ended: a store that fails doesn't keep the token from the others. */
async function allOf(calls: readonly Promise<SyncError | undefined>[]): Promise<(SyncError | undefined)[]> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}

/** One table after the other, because they share the transaction. */
const inTurn = (tables: readonly TokenTables[]): TokenTables => ({
  batchSize: Math.min(...tables.map(({ batchSize }) => batchSize)),
  async write(tokens, transaction, options) {
    const refusals: Refusals[] = [];
    for (const table of tables) refusals.push(await table.write(tokens, transaction, options));
    return refusalsIn(
      tokens.map(({ user_group_id }) => user_group_id),
      refusals,
    );
  },
  async writeAtOnce(token, lease) {
    const results = await Promise.allSettled(tables.map((table) => table.writeAtOnce(token, lease)));
    return results.every((result) => result.status === "fulfilled" && result.value);
  },
  async remove(ids, transaction) {
    const refused: [string, SyncError][] = [];
    for (const table of tables) refused.unshift(...(await table.remove(ids, transaction)));
    return new Map(refused);
  },
});
