import { expect } from "vitest";
import { type LedgerDatabase, NOW, opened, write } from "../../../contracts/ledger/rig.ts";

/** Where the tokens are, as version 9 remembered it. */
export const TOKEN_PLACES_IN_VERSION_9 = `INSERT INTO groupsync_token_places (scope, places) VALUES ('default', '["here"]')`;

/** Expects that the migration from version 9 makes room for the time of a verification, and leaves the rest as it is. */
export async function expectVerificationRemembered(database: LedgerDatabase): Promise<void> {
  const at = await opened(async () => database);
  expect(await at.ledger.tokenDestinations()).toEqual(["here"]);
  expect(await at.ledger.tokensVerifiedAt()).toBeNull();
  await write(at, (transaction) => transaction.recordTokensVerified(NOW));
  expect(await at.ledger.tokensVerifiedAt()).toEqual(NOW);
}
