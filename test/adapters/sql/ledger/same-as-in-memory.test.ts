import fc from "fast-check";
import { expect, test } from "vitest";
import type { CandidateList } from "../../../../src/core/record/candidates.ts";
import type { EventOf } from "../../../../src/core/record/next.ts";
import { IN_DOUBT } from "../../../../src/core/record/record.ts";
import type { Ledger } from "../../../../src/ports/ledger/ledger.ts";
import { anEvent } from "../../../builders/records.ts";
import { collect } from "../../../contracts/collect.ts";
import { inDays, leaseOf, NOW, opened } from "../../../contracts/ledger/rig.ts";
import { inMemoryLedger } from "../../../fakes/ledger/ledger.ts";
import { LedgerState } from "../../../fakes/ledger/ledger-state.ts";
import { SEED } from "../../../support/databases/seed.ts";
import { rounds } from "../../../support/long.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

const IDS = ["a", "B", "ä", "😀"];
const EVER = new Date("2100-01-01T00:00:00Z");

const LISTS: readonly CandidateList[] = [
  { kind: "existing" },
  { kind: "existing", liveSince: inDays(2), isRemovalUnderWay: true },
  { kind: "existing", isWanted: true, of: IDS },
  { kind: "owing" },
  { kind: "vouched", of: "all" },
  { kind: "vouched", of: "not everywhere" },
  { kind: "vouched", of: ["a", "😀"] },
  { kind: "rotatable", due: EVER },
  { kind: "rotatable", due: "wanted" },
  { kind: "rotatable", due: "wanted by name", of: ["a", "B"] },
  { kind: "refreshable", since: EVER, now: EVER },
  { kind: "refreshable", ...IN_DOUBT, of: ["B", "ä"] },
];

const someEvents = (): fc.Arbitrary<EventOf[]> =>
  fc.array(
    fc
      .constantFrom(...IDS)
      .chain((user_group_id) =>
        anEvent(user_group_id).map((event): EventOf => ({ ...event, user_group_id })),
      ),
    { minLength: 1, maxLength: 5 },
  );

/** All that a ledger tells of its groups. */
async function toldBy(ledger: Ledger): Promise<unknown> {
  const options = { limit: 100 };
  const { groups, oldestToken, oldestUnsynced, failing } = await ledger.status();
  const histories = await Promise.all(IDS.map((id) => ledger.record(id)));
  return {
    groups: await collect(ledger.groups()),
    buckets: [
      await ledger.buckets({ unverifiedAtRest: true }),
      await ledger.buckets({ unverifiedAtRest: false }),
    ],
    candidates: await Promise.all(
      LISTS.map(async (list) => [
        await ledger.candidateCount(list),
        await ledger.candidates(list, options),
        await ledger.candidates(list, {
          ...options,
          after: (await ledger.candidates(list, { limit: 1 }))[0],
        }),
      ]),
    ),
    missing: await ledger.missing(),
    gone: (await ledger.goneSince(NOW)).count,
    removals: await ledger.removalsSince(NOW),
    status: { groups, oldestToken, oldestUnsynced, failing },
    histories,
  };
}

test(`whatever happens, it tells what the ledger in memory tells (GROUPSYNC_TEST_SEED=${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someEvents(), { minLength: 1, maxLength: 8 }), async (transactions) => {
      const at = await opened(preparedLedgerDatabase);
      const memory = inMemoryLedger(
        new LedgerState(),
        async () => {},
        () => NOW,
      );
      const lease = await leaseOf(memory);
      for (const [n, events] of transactions.entries()) {
        if (n === 3)
          for (const to of [{ ...at }, { ledger: memory, lease }])
            await to.ledger.write(to.lease, (transaction) =>
              transaction.changeAll({ kind: "doubted" }, inDays(n)),
            );
        const known = await at.ledger.write(at.lease, (to) => to.change(events, inDays(n)));
        expect(known).toEqual(await memory.write(lease, (to) => to.change(events, inDays(n))));
      }
      expect(await toldBy(at.ledger)).toEqual(await toldBy(memory));
    }),
    { seed: SEED, numRuns: rounds(20) },
  );
});
