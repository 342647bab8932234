import { describe, expect, test } from "vitest";
import type { Rejection } from "../../../src/core/group/rejections.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { RunResult } from "../../../src/ports/ledger/scope.ts";
import { aDeleted, anApplied, aRejection } from "../../builders/groups.ts";
import {
  carryOut,
  inDays,
  type LedgerPlace,
  leaseOf,
  NOW,
  type Opened,
  opened,
  prepared,
  runAt,
  write,
} from "./rig.ts";

const EVER = new Date(0);

/** The history of the runs and how long it is kept, and what the runs could not use. */
export function ledgerRunsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  /** Another scope in the same place. */
  const another = async ({ database }: Opened): Promise<Opened> => {
    const ledger = await prepared(database, "another");
    return { database, ledger, lease: await leaseOf(ledger) };
  };

  describe(`${name}: the memory of rejected rows`, () => {
    const counted = aRejection({
      user_group_id: null,
      code: "ID_NULL",
      message: "column id is null",
      rows: 3,
    });
    const [a, b] = [aRejection({ user_group_id: "a" }), aRejection({ user_group_id: "b", bucket: 4095 })];
    const recordAt = (
      at: Opened,
      now: Date,
      changed: readonly Rejection[],
      gone: readonly Rejection[] = [],
    ) => write(at, (transaction) => transaction.recordRejections(changed, gone, now));

    test("has each row since it is rejected, in the order of the ids", async () => {
      const at = await opened(makePlace);
      await recordAt(at, NOW, [b, counted]);
      const odd = aRejection({
        user_group_id: "a Ü 😀'\"",
        code: "VALUE_UNUSABLE",
        message: "a 'message' \\ of 😀",
      });
      await recordAt(at, inDays(1), [
        { ...b, message: "another", bucket: 8 },
        { ...counted, rows: 4 },
        a,
        odd,
      ]);
      const all = [
        { ...counted, rows: 4, since: NOW },
        { ...a, since: inDays(1) },
        { ...odd, since: inDays(1) },
        { ...b, message: "another", bucket: 8, since: NOW },
      ];
      expect(await at.ledger.rejections()).toEqual(all);
      expect(await at.ledger.rejections(["b", "", "unknown", "a\0"])).toEqual(all.slice(3));
      expect(await at.ledger.rejections([])).toEqual([]);
    });

    test("forgets a row that is rejected no more, or for another reason", async () => {
      const at = await opened(makePlace);
      await recordAt(at, NOW, [a, b, counted]);
      const other = { ...a, code: "ID_DUPLICATE" } as const;
      await recordAt(at, inDays(1), [other], [a, counted, { ...b, code: "ID_DUPLICATE" }]);
      expect(await at.ledger.rejections()).toEqual([
        { ...other, since: inDays(1) },
        { ...b, since: NOW },
      ]);
    });

    test("holds a thousand rows with long messages", async () => {
      const at = await opened(makePlace);
      const many = Array.from({ length: 1_000 }, (_, n) =>
        aRejection({ user_group_id: `row ${String(n).padStart(4, "0")}`, message: "ü".repeat(1_000) }),
      );
      await recordAt(at, NOW, many);
      expect(await at.ledger.rejections()).toEqual(many.map((one) => ({ ...one, since: NOW })));
      await recordAt(at, NOW, [], many);
      expect(await at.ledger.rejections()).toEqual([]);
    });

    test("makes a plan look at the buckets of its rows", async () => {
      const at = await opened(makePlace);
      await recordAt(at, NOW, [a, counted, b]);
      const buckets = await at.ledger.buckets({ unverifiedAtRest: true });
      expect(buckets.toSorted((one, two) => one.bucket - two.bucket)).toEqual([
        { bucket: 7, rows: 0, sum: "0", dirty: 2, owing: 0 },
        { bucket: 4095, rows: 0, sum: "0", dirty: 1, owing: 0 },
      ]);
    });
  });

  describe(`${name}: the history of the runs`, () => {
    test("has the runs since a time, newest first, up to a limit", async () => {
      const at = await opened(makePlace);
      await runsAt(at, [0, 1, 2, 3]);
      expect(await commandsIn(at, inDays(1))).toEqual(["day 3", "day 2", "day 1"]);
      expect(await commandsIn(at, inDays(1, 1))).toEqual(["day 3", "day 2"]);
      expect(await commandsIn(at, inDays(1), 2)).toEqual(["day 3", "day 2"]);
      expect(await commandsIn(at, inDays(4))).toEqual([]);
      expect(await at.ledger.history(EVER, 1, { command: "day 1" })).toMatchObject([{ command: "day 1" }]);
    });

    test("keeps the order of the runs if the clock was set back", async () => {
      const at = await opened(makePlace);
      await runsAt(at, [1, 0, 2]);
      expect(await commandsIn(at)).toEqual(["day 2", "day 0", "day 1"]);
    });

    test("has the result of a finished run, and no result of an unfinished run", async () => {
      const at = await opened(makePlace);
      const result: RunResult = {
        outcome: "failed",
        counts: { ...noCounts(), created: 2 },
        requests: 3,
        error: { code: "SERVICE_UNAVAILABLE", message: "it is down" },
      };
      const [finished, open] = await runsAt(at, [0, 1]);
      await write(at, (transaction) => transaction.finishRun(finished ?? "", result, inDays(0, 5)));
      for (const [code, count] of [
        ["SERVICE_UNAVAILABLE", 1],
        ["SOURCE_UNAVAILABLE", 0],
      ] as const)
        expect(await at.ledger.history(EVER, 10, { failedWith: ["KEY_REFUSED", code] })).toHaveLength(count);
      expect(await at.ledger.history(EVER, 10)).toEqual([
        { id: open, command: "day 1", startedAt: inDays(1), finishedAt: null, result: null },
        { id: finished, command: "day 0", startedAt: NOW, finishedAt: inDays(0, 5), result },
      ]);
    });

    test("loses a discarded run, and keeps other runs as they were", async () => {
      const at = await opened(makePlace);
      const [, , last] = await runsAt(at, [0, 1, 2]);
      await write(at, (transaction) => transaction.finishRun(last ?? "", null, NOW));
      expect(await commandsIn(at)).toEqual(["day 1", "day 0"]);
    });

    test("goes back for ninety days", async () => {
      const at = await opened(makePlace);
      const days = Array.from({ length: 12 }, (_, day) => day);
      const other = await another(at);
      await runsAt(other, days);
      await runsAt(at, days);
      await runAt(at, "in time", inDays(90));
      expect(await commandsIn(at)).toHaveLength(13);
      await runAt(at, "a moment later", inDays(90, 1));
      expect((await commandsIn(at)).at(-1)).toBe("day 1");
      expect(await commandsIn(at)).toHaveLength(13);
      expect(await commandsIn(other)).toHaveLength(12);
    });

    test("ends with the removals after ninety days, and with the tokens after a year", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied());
      await carryOut(at, aDeleted());
      const kept = async (days: number, ms: number) => {
        await runAt(at, "sync", inDays(days, ms));
        return [
          (await at.ledger.journalSum(["delete"], EVER)).count,
          (await at.ledger.journalOf("acme")).formerTokens.length,
        ];
      };
      expect(await kept(90, 0)).toEqual([1, 1]);
      expect(await kept(90, 1)).toEqual([0, 1]);
      expect(await kept(365, 0)).toEqual([0, 1]);
      expect(await kept(365, 1)).toEqual([0, 0]);
    });

    test("keeps the ten newest runs, however old they are", async () => {
      const at = await opened(makePlace);
      await runsAt(
        at,
        Array.from({ length: 12 }, (_, day) => day),
      );
      await runAt(at, "day 1000", inDays(1_000));
      const commands = await commandsIn(at);
      expect(commands).toHaveLength(10);
      expect([commands[0], commands[1], commands[9]]).toEqual(["day 1000", "day 11", "day 3"]);
    });
  });
}

/** Begins a run on each of these days. */
const runsAt = (at: Opened, days: readonly number[]): Promise<string[]> =>
  write(at, async (transaction) => {
    const ids: string[] = [];
    for (const day of days) ids.push(await transaction.startRun(`day ${day}`, inDays(day)));
    return ids;
  });

const commandsIn = async ({ ledger }: Opened, since = EVER, limit = 100): Promise<string[]> =>
  (await ledger.history(since, limit)).map(({ command }) => command);
