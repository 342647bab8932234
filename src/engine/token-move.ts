import { areSamePlaces, inSmallLetters } from "../core/token-places.ts";
import type { TokenStore } from "../ports/token-store.ts";
import type { Run } from "./run.ts";

/**
 * Whether all tokens are in these places as they were in the former ones. Names of a table that differ in case alone may
 * be one for its database: it is asked only where they differ. One table whose database tells them apart suffices for
 * a move.
 */
export async function haveStayed(
  former: readonly string[],
  places: readonly string[],
  { destinations }: Pick<TokenStore, "destinations">,
): Promise<boolean> {
  if (areSamePlaces(former, places)) return true;
  if (!areSamePlaces(inSmallLetters(former), inSmallLetters(places))) return false;
  for (const destination of destinations) if ((await destination.foldsCase()) === false) return false;
  return true;
}

/**
 * If the config names other places than before, clear the record of complete places first, so that an interrupted run
 * can't leave it set.
 */
export async function noteMove(places: readonly string[], run: Run): Promise<void> {
  const { ledger, lease, tokens, observe } = run;
  const former = await ledger.tokenPlaces();
  if (former === null || (await haveStayed(former, places, tokens))) return;
  await ledger.write(lease, (transaction) => transaction.recordTokenPlaces(null));
  const shown = (all: readonly string[]): string => all.join(", and to ");
  observe({
    kind: "warning",
    code: "TOKENS_MOVED",
    message: `tokens went to ${shown(former)}; from now on they go to ${shown(places)}`,
    hint: "a sync looks for every token there, and writes those that are missing; what lies in a place that is not named any more stays, and is yours to remove",
  });
}
