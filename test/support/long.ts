/**
 * Whether this run is `npm run test:long`: all rounds of every disaster, all cases of every matrix, and every end-to-end
 * test on both databases. Nothing else reads the variable.
 */
export const LONG = process.env.GROUPSYNC_TEST_LONG === "1";

/**
 * How often something random is done: as often as said in a long run, a tenth of that in any other. The simulation plays
 * random histories of the engine, hundreds of them in every run.
 */
export const rounds = (full: number): number => (LONG ? full : Math.ceil(full / 10));

/**
 * The cases that a test goes through: all of them in a long run, the first `few` in any other. For end-to-end tests of
 * a matrix that cheaper tests prove in every run.
 */
export const someOf = <T>(all: readonly T[], few = 1): readonly T[] => (LONG ? all : all.slice(0, few));
