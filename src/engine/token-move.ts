import { areSamePlaces } from "../core/token-places.ts";
import type { Run } from "./run.ts";

/**
 * Before a token is written to other places than all of them are in: whichever the config names next, none has all of
 * them until a sync has seen to that.
 */
export async function noteMove(places: readonly string[], { ledger, lease, observe }: Run): Promise<void> {
  const former = await ledger.tokenPlaces();
  if (former === null || areSamePlaces(former, places)) return;
  await ledger.write(lease, (transaction) => transaction.recordTokenPlaces(null));
  const shown = (all: readonly string[]): string => all.join(", and to ");
  observe({
    kind: "warning",
    code: "TOKENS_MOVED",
    message: `tokens went to ${shown(former)}; from now on they go to ${shown(places)}`,
    hint: "a sync looks for every token there, and writes those that are missing; what lies in a place that is not named any more stays, and is yours to remove",
  });
}
