import type { Feed } from "../../core/changes/notice.ts";
import type { WatchState } from "../changes/watch.ts";
import type { ServingNow } from "./state.ts";

export interface NamedFeed {
  readonly feed: Feed;
  /** The key in the config. */
  readonly key: string;
  /** Null while another instance notices tenants, and before the first attempt. */
  readonly state: WatchState | null;
}

interface BrokenFeed {
  readonly key: string;
  readonly since: Date;
}

const FEEDS: readonly Feed[] = ["column", "channel"];

/** The feeds that the config names. */
export const feedsOf = (serving: ServingNow | null): readonly NamedFeed[] =>
  FEEDS.flatMap((feed) => {
    const state = serving?.feeds[feed];
    return state !== undefined ? [{ feed, key: `source.changes.${feed}`, state }] : [];
  });

/** The feeds that don't work. What they would notice waits for the next full sync. */
export const brokenFeedsOf = (serving: ServingNow | null): readonly BrokenFeed[] =>
  feedsOf(serving).flatMap(({ key, state }) => (state?.error ? [{ key, since: state.since }] : []));
