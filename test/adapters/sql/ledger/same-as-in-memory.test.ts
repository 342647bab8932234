import fc from "fast-check";
import { expect, test } from "vitest";
import { type CandidateList, DOUBTED } from "../../../../src/core/record/candidates.ts";
import type { EventOf } from "../../../../src/core/record/next.ts";
import type { JournalSum } from "../../../../src/ports/ledger/groups.ts";
import type { Ledger } from "../../../../src/ports/ledger/ledger.ts";
import { anApplied, anApply } from "../../../builders/groups.ts";
import { anEvent, begun, ended } from "../../../builders/records.ts";
import { collect } from "../../../contracts/collect.ts";
import { inDays, leaseOf, NOW, opened } from "../../../contracts/ledger/rig.ts";
import { inMemoryLedger } from "../../../fakes/ledger/ledger.ts";
import { LedgerState } from "../../../fakes/ledger/ledger-state.ts";
import { SEED } from "../../../support/databases/seed.ts";
import { rounds } from "../../../support/long.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

const ODD_IDS = ["a", "B", "ä", "😀"];
/** So many that each run has groups in most of the states that there are. */
const IDS = [...ODD_IDS, ...Array.from({ length: 26 }, (_, n) => `t${n}`)];
const EVER = new Date("2100-01-01T00:00:00Z");

const LISTS: readonly CandidateList[] = [
  { kind: "existing" },
  { kind: "existing", liveSince: inDays(2), isRemovalUnderWay: true },
  { kind: "existing", isWanted: true, of: IDS.slice(0, 9) },
  { kind: "owing" },
  { kind: "held" },
  { kind: "failing" },
  { kind: "vouched", of: "all" },
  { kind: "vouched", of: "not everywhere" },
  { kind: "vouched", of: IDS.slice(3, 12) },
  { kind: "rotatable", due: EVER },
  { kind: "rotatable", due: inDays(1) },
  { kind: "rotatable", due: "wanted" },
  { kind: "rotatable", due: "wanted by name", of: IDS.slice(0, 9) },
  { kind: "refreshable", since: EVER, now: EVER },
  { kind: "refreshable", since: inDays(1), now: inDays(3) },
  { kind: "refreshable", ...DOUBTED, of: IDS.slice(1, 12) },
];

/** Most groups are made, and then anything happens to any of them. */
const transactions = (): fc.Arbitrary<EventOf[][]> =>
  fc
    .tuple(
      fc.subarray(IDS, { minLength: 18 }).map((made) => made.flatMap(created)),
      fc.array(
        fc.array(
          fc
            .constantFrom(...IDS)
            .chain((user_group_id) => anEvent(user_group_id).map((event) => ({ ...event, user_group_id }))),
          { minLength: 12, maxLength: 30, size: "max" },
        ),
        { minLength: 3, maxLength: 5, size: "max" },
      ),
    )
    .map(([first, more]) => [first, ...more]);

function created(user_group_id: string): EventOf[] {
  const change = anApply({ user_group_id });
  return [begun(change), ended(anApplied({ change }))];
}

const countOf = async (sum: Promise<JournalSum>): Promise<unknown> => {
  const { count, last } = await sum;
  return { count, last: last?.user_group_id, at: last?.at };
};

const bucketsOf = async (ledger: Ledger, unverifiedAtRest: boolean) =>
  (await ledger.buckets({ unverifiedAtRest })).toSorted((a, b) => a.bucket - b.bucket);

/** All that a ledger tells of its groups. */
async function toldBy(ledger: Ledger): Promise<unknown> {
  const options = { limit: 100 };
  return {
    groups: await collect(ledger.groups()),
    records: await ledger.records(IDS),
    buckets: [await bucketsOf(ledger, true), await bucketsOf(ledger, false)],
    candidates: await Promise.all(
      LISTS.map(async (list) => {
        const all = await ledger.candidates(list, options);
        const rest = await ledger.candidates(list, { ...options, after: all[0] });
        return [(await ledger.sums(list)).counts.total, all, rest];
      }),
    ),
    journal: await Promise.all(
      [NOW, inDays(2)].flatMap((since) => [
        countOf(ledger.journalSum(["delete", "replace"], since)),
        countOf(ledger.journalSum(["gone", "token"], since)),
      ]),
    ),
    sums: await ledger.sums(),
    journals: await Promise.all(ODD_IDS.map((id) => ledger.journalOf(id))),
  };
}

test(`whatever happens, it tells what the ledger in memory tells (GROUPSYNC_TEST_SEED=${SEED})`, async () => {
  const database = await preparedLedgerDatabase();
  let scopes = 0;
  await fc.assert(
    fc.asyncProperty(transactions(), async (transactions) => {
      const at = await opened(async () => database, `scope ${scopes++}`);
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
    { seed: SEED, numRuns: rounds(60) },
  );
});
