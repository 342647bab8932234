/** What chance begins with: another one in every run, and the same again where the environment names it. */
export const SEED = Number(process.env.GROUPSYNC_TEST_SEED ?? Date.now() % 1_000_000);

/** For the name of a test, so that its failure tells how to have the same again. */
export const SEEDED = `(GROUPSYNC_TEST_SEED=${SEED})`;
