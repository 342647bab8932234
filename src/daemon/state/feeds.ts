import type { ServingNow } from "./state.ts";

/** The feeds that the config names, with their keys there. */
export const feedsOf = (serving: ServingNow | null) =>
  Object.entries(serving?.feeds ?? {}).map(([feed, state]) => ({
    feed,
    key: `source.changes.${feed}`,
    state,
  }));

/** The feeds that don't work. What they would notice waits for the next full sync. */
export const brokenFeedsOf = (serving: ServingNow | null) =>
  feedsOf(serving).flatMap(({ key, state }) => (state?.error ? [{ key, since: state.since }] : []));
