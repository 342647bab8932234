/**
 * Whether this run is `npm run test:long`: all rounds of every disaster, and every end-to-end test on both databases.
 * Nothing else reads the variable.
 */
export const LONG = process.env.GROUPSYNC_TEST_LONG === "1";

/** How often something random is done: as often as said in a long run, a third of that in any other. */
export const rounds = (full: number): number => (LONG ? full : Math.ceil(full / 3));
