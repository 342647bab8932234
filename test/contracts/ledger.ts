import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Apply } from "../../src/core/decide.ts";
import { tokenFingerprint } from "../../src/core/group.ts";
import { compareIds } from "../../src/core/id.ts";
import { noCounts, type Outcome } from "../../src/core/outcome.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Begun, BucketOptions, Lease, Ledger, LedgerView, RunResult } from "../../src/ports/ledger.ts";
import { anyId } from "../builders/arbitraries.ts";
import { aFailed, aGroup, anApplied, anApply, aRow } from "../builders/groups.ts";
import { collect, rejection } from "./collect.ts";

/** A database for one test. Whatever is opened in it is closed when the test is over. */
export interface LedgerDatabase {
  ledger(scope?: string): Ledger;
  view(scope?: string): LedgerView;
  tables(): Promise<readonly string[]>;
  /** Everything that the tables hold, as text. */
  dump(): Promise<string>;
  /** As if another groupsync had brought the ledger to this version. */
  setVersion(version: number): Promise<void>;
  /** Lets the database learn how little its tables hold: it then reads them without their indexes. */
  analyze(): Promise<void>;
  /** Resolves when a session waits for another one's lock. */
  untilBlocked(): Promise<void>;
  /** Ends every session but those of the test itself. */
  cut(): Promise<void>;
}

const NOW = new Date("2026-03-01T12:00:00.123Z");
const LATER = new Date("2026-03-02T12:00:00Z");
const TTL = 60_000;
/** A lease of no length has expired when anybody looks at it. */
const EXPIRED = 0;

export function ledgerContract(name: string, makeDatabase: () => Promise<LedgerDatabase>): void {
  const prepared = async (database: LedgerDatabase, scope?: string): Promise<Ledger> => {
    const ledger = database.ledger(scope);
    await ledger.prepare();
    return ledger;
  };
  const leaseOf = async (ledger: Ledger, holder = "me", ttlMs = TTL): Promise<Lease> => {
    const attempt = await ledger.acquireLease(holder, ttlMs);
    if (attempt.kind === "held") throw new Error(`the lease is held by ${attempt.by.holder}`);
    return attempt.lease;
  };
  /** A ledger that is ready to be written, and its lease. */
  const opened = async () => {
    const database = await makeDatabase();
    const ledger = await prepared(database);
    return { database, ledger, lease: await leaseOf(ledger) };
  };
  type Opened = Awaited<ReturnType<typeof opened>>;
  const begin = ({ ledger, lease }: Opened, ...changes: Apply[]): Promise<readonly Begun[]> =>
    ledger.write(lease, (transaction) => transaction.begin(changes, NOW));
  const record = ({ ledger, lease }: Opened, outcome: Outcome, retryAt?: Date): Promise<void> =>
    ledger.write(lease, (transaction) => transaction.record([{ outcome, ...(retryAt && { retryAt }) }], NOW));
  const rowOf = async ({ ledger }: Opened, id = "acme") =>
    (await collect(ledger.groups())).find((group) => group.user_group_id === id);

  describe(`${name}: the ledger's tables`, () => {
    test("are made once, and can be prepared again", async () => {
      const database = await makeDatabase();
      await prepared(database);
      const tables = await database.tables();
      const before = await database.dump();
      await prepared(database);
      expect(await database.tables()).toEqual(tables);
      expect(await database.dump()).toEqual(before);
    });

    test("are made by one of several that start together", async () => {
      const database = await makeDatabase();
      await Promise.all(["a", "b", "c", "d"].map((scope) => prepared(database, scope)));
      expect(await collect(database.view().groups())).toEqual([]);
    });

    test("are refused where a newer program made them", async () => {
      const database = await makeDatabase();
      await prepared(database);
      await database.setVersion(99);
      const refusal = { code: "LEDGER_TOO_NEW", hint: expect.stringContaining("newer groupsync") };
      await expect(database.ledger().prepare()).rejects.toMatchObject(refusal);
      await expect(database.view().status()).rejects.toMatchObject(refusal);
      await expect(collect(database.view().groups())).rejects.toMatchObject(refusal);
    });

    test("are left alone by a view that needs newer ones", async () => {
      const database = await makeDatabase();
      await prepared(database);
      // There is no version before the first: one that never was stands for all the old ones.
      await database.setVersion(-1);
      const refusal = { code: "LEDGER_OUTDATED", hint: expect.stringContaining("groupsync sync") };
      await expect(database.view().status()).rejects.toMatchObject(refusal);
      await expect(collect(database.view().groups())).rejects.toMatchObject(refusal);
      await expect(database.view().confirmed(["acme"])).rejects.toMatchObject(refusal);
    });

    test("read as empty where there are none, and reading makes none", async () => {
      const database = await makeDatabase();
      const view = database.view();
      expect(await view.service()).toEqual({ baseUrl: null, teamId: null, updates: null });
      expect(await collect(view.groups())).toEqual([]);
      expect(await view.confirmed(["acme"])).toEqual(new Map());
      expect(await view.status()).toMatchObject({ groups: { total: 0 }, runs: [], lease: null, failing: [] });
      expect(await database.tables()).toEqual([]);
    });
  });

  describe(`${name}: the ledger's groups`, () => {
    const apply = anApply();
    const { fingerprint } = apply;
    const atRest = {
      user_group_id: "acme",
      fingerprint,
      row: apply.row,
      underWay: false,
      unverified: null,
      missingSince: null,
      failure: null,
    };

    test("are under way from begin on", async () => {
      const at = await opened();
      expect(await begin(at, apply)).toEqual([{ apply, known: false, confirmedName: null, failures: 0 }]);
      expect(await rowOf(at)).toEqual({ ...atRest, fingerprint: null, row: null, underWay: true });
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map());
    });

    test("begin answers in the order asked, with what was known", async () => {
      const at = await opened();
      const b = anApply({ user_group_id: "b", group: aGroup({ user_group_id: "b" }), fingerprint: "f-b" });
      const a = anApply({ user_group_id: "a", group: aGroup({ user_group_id: "a" }), fingerprint: "f-a" });
      await begin(at, b);
      await record(at, anApplied({ apply: b, serviceName: "Bee" }));
      await begin(at, b);
      const begun = await begin(at, { ...b, fingerprint: "f-b2" }, a);
      expect(begun).toEqual([
        {
          apply: { ...b, fingerprint: "f-b2" },
          known: true,
          confirmedName: "Bee",
          failures: 0,
        },
        { apply: a, known: false, confirmedName: null, failures: 0 },
      ]);
    });

    test.each(["created", "adopted", "updated"] as const)("%s: at rest, as confirmed", async (kind) => {
      const at = await opened();
      await begin(at, apply);
      await record(at, anApplied({ kind, apply }));
      expect(await rowOf(at)).toEqual(atRest);
      expect(await at.ledger.confirmed(["acme", "other"])).toEqual(new Map([["acme", apply.group]]));
      const [begun] = await begin(at, apply);
      expect(begun).toMatchObject({ known: true, confirmedName: "Acme" });
    });

    test("unverified: until it is recorded otherwise, or the service is seen to update", async () => {
      const at = await opened();
      await begin(at, apply);
      await record(at, anApplied({ apply, unverified: true }));
      expect(await rowOf(at)).toEqual({ ...atRest, unverified: "adopted" });
      await record(at, anApplied({ apply, unverified: false }));
      expect(await rowOf(at)).toEqual(atRest);

      await record(at, anApplied({ apply, unverified: true }));
      const service = { baseUrl: "https://service.test", teamId: 7 };
      await at.ledger.write(at.lease, (transaction) =>
        transaction.bindService({ ...service, updates: false }),
      );
      expect(await rowOf(at)).toEqual({ ...atRest, unverified: "adopted" });
      await at.ledger.write(at.lease, (transaction) =>
        transaction.bindService({ ...service, updates: true }),
      );
      expect(await rowOf(at)).toEqual(atRest);
    });

    test("not updated: a known group keeps what was confirmed", async () => {
      const at = await opened();
      await begin(at, apply);
      await record(at, anApplied({ apply }));
      const changed = anApply({ group: aGroup({ name: "Acme 2" }), fingerprint: "changed" });
      await begin(at, changed);
      await record(at, aNotUpdated(changed, "Acme"), LATER);
      expect(await rowOf(at)).toEqual({
        ...atRest,
        failure: {
          fingerprint: "changed",
          code: "NOT_UPDATED",
          message: "it kept the old name",
          count: 1,
          retryAt: LATER,
        },
      });
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map([["acme", apply.group]]));
    });

    test("not updated: an adopted group is owned from then on, in no state that was asked for", async () => {
      const at = await opened();
      await begin(at, apply);
      await record(at, aNotUpdated(apply, "Somebody's"), LATER);
      const row = await rowOf(at);
      expect(row).toMatchObject({ underWay: false, failure: { code: "NOT_UPDATED" } });
      expect(row?.fingerprint).not.toBeNull();
      expect(row?.fingerprint).not.toBe(fingerprint);
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map());
    });

    test.each([true, false])("failed (may have happened: %s)", async (mayHaveHappened) => {
      const at = await opened();
      await begin(at, apply);
      await record(at, aFailed({ apply, mayHaveHappened }), LATER);
      const failure = {
        fingerprint,
        code: "REFUSED",
        message: "GET was answered HTTP 422",
        count: 1,
        retryAt: LATER,
      };
      expect(await rowOf(at)).toEqual({
        ...atRest,
        fingerprint: null,
        row: null,
        underWay: mayHaveHappened,
        failure,
      });

      const [begun] = await begin(at, apply);
      expect(begun).toMatchObject({ known: true, failures: 1 });
      await record(at, aFailed({ apply, mayHaveHappened }), LATER);
      expect((await rowOf(at))?.failure?.count).toBe(2);

      await begin(at, apply);
      await record(at, anApplied({ apply }));
      expect(await rowOf(at)).toEqual(atRest);
    });

    test("failed, and settled", async () => {
      const at = await opened();
      await begin(at, apply);
      await record(at, anApplied({ apply }));
      const renamed = anApply({ fingerprint: "renamed" });
      await begin(at, renamed);
      await record(at, aFailed({ apply: renamed }), LATER);
      expect((await rowOf(at))?.failure?.count).toBe(1);
      const row = aRow({ bucket: 8, digest: "-9223372036854775808" });
      const settled = ["acme", "unknown"].map((user_group_id) => ({
        kind: "settled" as const,
        user_group_id,
        row,
      }));
      await at.ledger.write(at.lease, (transaction) => transaction.markSettled(settled));
      expect(await rowOf(at)).toEqual({ ...atRest, row });
      expect((await at.ledger.status()).groups).toMatchObject({ in_sync: 1, failing: 0 });
    });

    test("are summed up by bucket: those at rest, and how many are not", async () => {
      const at = await opened();
      const resting = { unverifiedAtRest: true };
      const applies = ["a", "b", "c", "d", "e", "f", "g"].map((user_group_id, index) =>
        anApply({
          user_group_id,
          group: aGroup({ user_group_id }),
          row: aRow({ bucket: index < 6 ? 7 : 8, digest: "9223372036854775807" }),
        }),
      );
      const [a, b, c, d, e, , g] = applies as [Apply, Apply, Apply, Apply, Apply, Apply, Apply];
      await begin(at, ...applies);
      for (const apply of [a, b, e, g]) await record(at, anApplied({ apply }));
      await record(at, anApplied({ apply: c, kind: "updated", unverified: true }));
      await record(at, aFailed({ apply: d }), LATER);
      await at.ledger.write(at.lease, (transaction) => transaction.markMissing(["e"], NOW));

      const bucketsIn = async (options: BucketOptions) =>
        (await at.ledger.buckets(options)).toSorted((one, other) => one.bucket - other.bucket);
      const alone = { bucket: 8, rows: 1, sum: "9223372036854775807", restless: 0 };
      expect(await bucketsIn(resting)).toEqual([
        { bucket: 7, rows: 3, sum: "27670116110564327421", restless: 3 },
        alone,
      ]);
      expect(await bucketsIn({ unverifiedAtRest: false })).toEqual([
        { bucket: 7, rows: 2, sum: "18446744073709551614", restless: 4 },
        alone,
      ]);
      const some = await collect(at.ledger.groups([8, 9]));
      expect(some.map((group) => group.user_group_id)).toEqual(["g"]);
    });

    test("missing, and returned", async () => {
      const at = await opened();
      await begin(at, apply);
      await record(at, anApplied({ apply }));
      await at.ledger.write(at.lease, (transaction) => transaction.markMissing(["acme", "unknown"], NOW));
      expect(await rowOf(at)).toEqual({ ...atRest, missingSince: NOW });
      await at.ledger.write(at.lease, (transaction) => transaction.markReturned(["acme", "unknown"]));
      expect(await rowOf(at)).toEqual(atRest);

      await at.ledger.write(at.lease, (transaction) => transaction.markMissing(["acme"], NOW));
      await begin(at, apply);
      await record(at, anApplied({ apply }));
      expect(await rowOf(at)).toEqual(atRest);
      expect(await collect(at.ledger.groups())).toHaveLength(1);
    });

    test("withdraw takes back a new intent, and leaves an earlier run's as it was", async () => {
      const at = await opened();
      const [fresh, known, earlier] = ["fresh", "known", "earlier"].map((id) =>
        anApply({ user_group_id: id, group: aGroup({ user_group_id: id }), fingerprint: `f-${id}` }),
      ) as [Apply, Apply, Apply];
      await begin(at, known);
      await record(at, anApplied({ apply: known }));
      await begin(at, earlier);
      const before = await collect(at.ledger.groups());

      const again = { ...earlier, fingerprint: "another", underWay: true };
      const begun = await begin(at, fresh, known, again);
      await at.ledger.write(at.lease, (transaction) => transaction.withdraw(begun));
      expect(await collect(at.ledger.groups())).toEqual(before);
    });

    test("come in the order of their ids' bytes, whatever the ids", async () => {
      const at = await opened();
      const ids = fc.uniqueArray(anyId(), { minLength: 1, maxLength: 30 });
      const all = new Set<string>();
      await fc.assert(
        fc.asyncProperty(ids, async (some) => {
          for (const id of some) all.add(id);
          await begin(at, ...some.map((id) => anApply({ user_group_id: id, fingerprint: "f" })));
          await at.database.analyze();
          const groups = await collect(at.ledger.groups());
          expect(groups.map((group) => group.user_group_id)).toEqual([...all].sort(compareIds));
        }),
        { numRuns: 30 },
      );
    });

    test("give back every group that was confirmed, to the character", async () => {
      const at = await opened();
      const group = aGroup({
        name: "NUL \0, half a pair \ud800, 😀",
        mapping: { "40": "\\u0000" },
        properties: JSON.parse('{"__proto__": ["\\u0000", 1e-7, "9007199254740993"], "": null}'),
      });
      const odd = anApply({ group });
      const ordinary = anApply({ user_group_id: "b", group: aGroup({ user_group_id: "b" }) });
      await begin(at, odd, ordinary);
      await at.ledger.write(at.lease, (transaction) =>
        transaction.record(
          [
            { outcome: anApplied({ apply: odd, serviceName: "half \udfff and NUL \0" }) },
            {
              outcome: aFailed({
                apply: ordinary,
                failure: { code: "REFUSED", message: "NUL \0, half \ud800" },
              }),
              retryAt: LATER,
            },
          ],
          NOW,
        ),
      );
      expect(await at.ledger.confirmed(["acme"])).toEqual(new Map([["acme", group]]));
      expect(await rowOf(at, "b")).toMatchObject({ failure: { message: "NUL \ufffd, half \ufffd" } });
    });

    test("belong to one scope", async () => {
      const at = await opened();
      await begin(at, apply);
      await record(at, anApplied({ apply }));
      await at.ledger.write(at.lease, async (transaction) => {
        await transaction.bindService({ baseUrl: "https://service.test", teamId: 7, updates: null });
        await transaction.startRun("sync", NOW);
      });

      const other = await prepared(at.database, "other");
      expect(await collect(other.groups())).toEqual([]);
      expect(await other.confirmed(["acme"])).toEqual(new Map());
      expect(await other.service()).toEqual({ baseUrl: null, teamId: null, updates: null });
      expect(await other.status()).toMatchObject({ groups: { total: 0 }, runs: [], lease: null });

      const lease = await leaseOf(other, "the other");
      await other.write(lease, async (transaction) => {
        await transaction.begin([apply], NOW);
        await transaction.markMissing(["acme"], NOW);
        await transaction.bindService({ baseUrl: "https://other.test", teamId: 8, updates: true });
      });
      expect(await rowOf(at)).toEqual(atRest);
      expect(await at.ledger.service()).toEqual({
        baseUrl: "https://service.test",
        teamId: 7,
        updates: null,
      });
      await other.write(lease, async (transaction) => {
        const begun = await transaction.begin([apply], NOW);
        await transaction.withdraw(begun.map((entry) => ({ ...entry, known: false })));
      });
      expect(await rowOf(at)).toEqual(atRest);
    });

    test("never hold a token, but its fingerprint", async () => {
      const at = await opened();
      const token = new Secret("ugt_never-to-be-seen");
      await begin(at, apply);
      await record(at, anApplied({ apply, token }));
      const other = anApply({ user_group_id: "b" });
      await begin(at, other);
      await record(at, { ...aNotUpdated(other, "B"), token });
      const text = await at.database.dump();
      expect(text).toContain(tokenFingerprint(token));
      expect(text).not.toContain(token.reveal());
    });
  });

  describe(`${name}: the ledger's runs and status`, () => {
    const result: RunResult = {
      outcome: "partial",
      counts: { ...noCounts(), created: 2, failed: 1 },
      requests: 3,
      error: null,
    };

    test("old runs make room for new ones", async () => {
      const { ledger, lease, database } = await opened();
      const started = 1_510;
      await ledger.write(lease, async (transaction) => {
        for (let index = 0; index < started; index++) await transaction.startRun("many", NOW);
      });
      expect((await database.dump()).split("many")).toHaveLength(1_500 + 1);
    });

    test("a run is open until it is finished; the newest ten are told", async () => {
      const { ledger, lease } = await opened();
      const ids: string[] = [];
      for (let index = 0; index < 11; index++) {
        ids.push(await ledger.write(lease, (transaction) => transaction.startRun(`sync ${index}`, NOW)));
      }
      const [last, beforeLast] = ids.toReversed() as [string, string];
      const error = { code: "SOURCE_UNAVAILABLE", message: "NUL \0 and half \ud800" };
      await ledger.write(lease, async (transaction) => {
        await transaction.finishRun(last, result, LATER);
        await transaction.finishRun(beforeLast, { ...result, outcome: "failed", error }, LATER);
      });
      const { runs } = await ledger.status();
      expect(runs.map((run) => run.id)).toEqual(ids.toReversed().slice(0, 10));
      expect(runs[0]).toEqual({ id: last, command: "sync 10", startedAt: NOW, finishedAt: LATER, result });
      expect(runs[1]?.result).toMatchObject({
        outcome: "failed",
        error: { code: error.code, message: "NUL \ufffd and half \ufffd" },
      });
      expect(runs[2]).toEqual({
        id: ids[8],
        command: "sync 8",
        startedAt: NOW,
        finishedAt: null,
        result: null,
      });
    });

    test("status counts the groups by state, and names the failing ones, the longest-failing first", async () => {
      const at = await opened();
      const of = (id: string) => anApply({ user_group_id: id, fingerprint: `f-${id}` });
      const ids = ["ok", "unverified", "missing", "under-way", "fails", "fails-more", "maybe"];
      await begin(at, ...ids.map(of));
      for (const id of ["ok", "missing"]) await record(at, anApplied({ apply: of(id) }));
      await record(at, anApplied({ apply: of("unverified"), unverified: true }));
      await at.ledger.write(at.lease, (transaction) => transaction.markMissing(["missing"], NOW));
      for (const id of ["fails", "fails-more", "fails-more"])
        await record(at, aFailed({ apply: of(id) }), LATER);
      await record(at, aFailed({ apply: of("maybe"), mayHaveHappened: true }), LATER);

      const { groups, failing } = await at.ledger.status();
      expect(groups).toEqual({ total: 7, in_sync: 2, under_way: 2, failing: 3, missing: 1, unverified: 1 });
      expect(failing.map(({ user_group_id, count }) => [user_group_id, count])).toEqual([
        ["fails-more", 2],
        ["fails", 1],
        ["maybe", 1],
      ]);
      expect(failing[0]).toMatchObject({
        fingerprint: "f-fails-more",
        code: "REFUSED",
        message: "GET was answered HTTP 422",
        retryAt: LATER,
      });
    });

    test("the service is remembered, with a team of any size", async () => {
      const { ledger, lease, database } = await opened();
      for (const service of [
        { baseUrl: "https://service.test", teamId: null, updates: null },
        { baseUrl: "https://service.test", teamId: Number.MAX_SAFE_INTEGER, updates: false },
        { baseUrl: "https://service.test", teamId: -1, updates: true },
      ]) {
        await ledger.write(lease, (transaction) => transaction.bindService(service));
        expect(await ledger.service()).toEqual(service);
        expect((await database.view().status()).service).toEqual(service);
      }
    });
  });

  describe(`${name}: the lease`, () => {
    test("is held by one, and says by whom", async () => {
      const { database, ledger, lease } = await opened();
      const attempt = await database.ledger().acquireLease("another", TTL);
      expect(attempt).toEqual({
        kind: "held",
        by: expect.objectContaining({ epoch: lease.epoch, holder: "me" }),
      });
      const shown = (await ledger.status()).lease;
      expect(shown).toMatchObject({ epoch: lease.epoch, holder: "me" });
      expect((shown?.expiresAt.getTime() ?? 0) - (shown?.acquiredAt.getTime() ?? 0)).toBe(TTL);
    });

    test("goes to one of many that want it at once", async () => {
      const database = await makeDatabase();
      const ledger = await prepared(database);
      const names = Array.from({ length: 8 }, (_, index) => `instance ${index}`);
      const attempts = await Promise.all(names.map((holder) => ledger.acquireLease(holder, TTL)));
      expect(attempts.filter((attempt) => attempt.kind === "acquired")).toHaveLength(1);
    });

    test("can be taken once it has expired, with a higher epoch each time", async () => {
      const database = await makeDatabase();
      const ledger = await prepared(database);
      const epochs: bigint[] = [];
      for (const holder of ["a", "b", "c"])
        epochs.push(BigInt((await leaseOf(ledger, holder, EXPIRED)).epoch));
      const [first = 0n, second = 0n, third = 0n] = epochs;
      expect(first < second && second < third).toBe(true);
      expect((await ledger.status()).lease).toBeNull();
    });

    test("can be taken at once when it was released", async () => {
      const { ledger, lease } = await opened();
      await ledger.releaseLease(lease);
      expect((await ledger.status()).lease).toBeNull();
      expect((await leaseOf(ledger, "another")).epoch).not.toBe(lease.epoch);
    });

    test("a release by a former holder changes nothing", async () => {
      const { ledger, lease } = await opened();
      await ledger.releaseLease(lease);
      await leaseOf(ledger, "another");
      await ledger.releaseLease(lease);
      expect((await ledger.status()).lease).toMatchObject({ holder: "another" });
    });

    test("is renewed by its holder alone", async () => {
      const database = await makeDatabase();
      const ledger = await prepared(database);
      const former = await leaseOf(ledger, "former", EXPIRED);
      expect(await ledger.renewLease(former, TTL)).toBe(true);
      expect((await ledger.status()).lease).toMatchObject({ holder: "former" });
      await ledger.releaseLease(former);
      await leaseOf(ledger, "new", TTL);
      expect(await ledger.renewLease(former, 10 * TTL)).toBe(false);
      const shown = (await ledger.status()).lease;
      expect((shown?.expiresAt.getTime() ?? 0) - (shown?.acquiredAt.getTime() ?? 0)).toBe(TTL);
    });

    test("is seized from a holder that is known to be dead, but not from its successor", async () => {
      const { ledger } = await opened();
      const attempt = await ledger.acquireLease("another", TTL);
      if (attempt.kind !== "held") throw new Error("the lease should be held");
      const seized = await ledger.seizeLease(attempt.by, "another", TTL);
      expect(seized).toBeDefined();
      expect(await ledger.seizeLease(attempt.by, "a third", TTL)).toBeUndefined();
      expect((await ledger.status()).lease).toMatchObject({ holder: "another", epoch: seized?.epoch });
    });

    test("a write without it changes nothing", async () => {
      const { database, ledger, lease } = await opened();
      await ledger.releaseLease(lease);
      await leaseOf(ledger, "another");
      const before = await database.dump();
      let ran = false;
      const writing = ledger.write(lease, async (transaction) => {
        ran = true;
        await transaction.begin([anApply()], NOW);
      });
      await expect(writing).rejects.toMatchObject({
        code: "LEASE_LOST",
        hint: expect.stringContaining("nothing more was changed"),
      });
      expect(ran).toBe(false);
      expect(await database.dump()).toBe(before);
    });

    test("that has expired is good for writing until somebody takes it", async () => {
      const database = await makeDatabase();
      const ledger = await prepared(database);
      const lease = await leaseOf(ledger, "late", EXPIRED);
      await ledger.write(lease, (transaction) => transaction.begin([anApply()], NOW));
      await leaseOf(ledger, "another");
      const writing = ledger.write(lease, (transaction) => transaction.markMissing(["acme"], NOW));
      await expect(writing).rejects.toMatchObject({ code: "LEASE_LOST" });
    });

    test("changes hands only when an open write is done; a heartbeat doesn't wait", async () => {
      const { database, ledger, lease } = await opened();
      const other = database.ledger();
      const attempt = await other.acquireLease("another", TTL);
      if (attempt.kind !== "held") throw new Error("the lease should be held");
      const events: string[] = [];
      let seizing: Promise<unknown> | undefined;
      await ledger.write(lease, async (transaction) => {
        await transaction.begin([anApply()], NOW);
        expect(await ledger.renewLease(lease, TTL)).toBe(true);
        seizing = other.seizeLease(attempt.by, "another", TTL).then(async () => {
          events.push(`seized, ${(await collect(other.groups())).length} group`);
        });
        await database.untilBlocked();
        events.push("written");
      });
      await seizing;
      expect(events).toEqual(["written", "seized, 1 group"]);
    });
  });

  describe(`${name}: a write`, () => {
    test("is all or nothing", async () => {
      const at = await opened();
      const writing = at.ledger.write(at.lease, async (transaction) => {
        await transaction.begin([anApply()], NOW);
        throw new Error("half-way");
      });
      await expect(writing).rejects.toThrow("half-way");
      expect(await collect(at.ledger.groups())).toEqual([]);
    });

    test.each(["before its last statement", "before its commit"])(
      "leaves nothing behind when the database goes away %s",
      async (when) => {
        const at = await opened();
        const writing = at.ledger.write(at.lease, async (transaction) => {
          await transaction.begin([anApply()], NOW);
          await at.database.cut();
          if (when === "before its last statement") await transaction.markMissing(["acme"], NOW);
        });
        expect(await rejection(writing)).toMatchObject({
          code: "LEDGER_UNAVAILABLE",
          message: expect.stringContaining("cannot write the ledger"),
        });
        expect(await collect(at.ledger.groups())).toEqual([]);
        await at.ledger.write(at.lease, (transaction) => transaction.begin([anApply()], NOW));
        expect(await collect(at.ledger.groups())).toHaveLength(1);
      },
    );

    test("of nothing is fine", async () => {
      const { ledger, lease } = await opened();
      await ledger.write(lease, async (transaction) => {
        expect(await transaction.begin([], NOW)).toEqual([]);
        await transaction.record([], NOW);
        await transaction.withdraw([]);
        await transaction.markMissing([], NOW);
        await transaction.markReturned([]);
      });
      expect(await collect(ledger.groups())).toEqual([]);
    });
  });
}

const aNotUpdated = (apply: Apply, serviceName: string): Outcome & { kind: "not_updated" } => ({
  kind: "not_updated",
  apply,
  token: new Secret("ugt_acme"),
  serviceName,
  failure: { code: "NOT_UPDATED", message: "it kept the old name" },
});
