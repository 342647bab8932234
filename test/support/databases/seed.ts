/** The seed of random values: a new one in every run, unless the environment names one. */
export const SEED = Number(process.env.GROUPSYNC_TEST_SEED ?? Date.now() % 1_000_000);

/** For the name of a test, so that its failure tells how to have the same again. */
export const SEEDED = `(GROUPSYNC_TEST_SEED=${SEED})`;
