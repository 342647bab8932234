import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/apply/outcome.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import { type Change, DELETED } from "../../../src/core/plan/change.ts";
import {
  type GroupEvent,
  type JournalEntry,
  next,
  type RecordedOutcome,
  type RotationEnd,
  storingFailed,
} from "../../../src/core/record/next.ts";
import { type GroupRecord, isNeverMade } from "../../../src/core/record/record.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import {
  aDelete,
  aDeleted,
  aFailed,
  aGroup,
  aNotUpdated,
  anApplied,
  anApply,
  aReplace,
  aRow,
} from "../../builders/groups.ts";
import { aLife, anEvent } from "../../builders/records.ts";
import { SEED } from "../../support/databases/seed.ts";

const DAY = 24 * 3_600_000;
const day = (n: number): Date => new Date(Date.UTC(2026, 2, 1) + n * DAY);
const FIRST = tokenFingerprint(new Secret("ugt_acme"));
const SECOND = tokenFingerprint(new Secret("ugt_acme_2"));
const THIRD = tokenFingerprint(new Secret("ugt_acme_3"));
const refusal = { code: "REFUSED", message: "POST was answered HTTP 422", retryAt: day(9) };

const begun = (change: Change = anApply()): GroupEvent => ({ kind: "begun", change });
const ended = (outcome: Outcome, more: Partial<RecordedOutcome> = {}): GroupEvent => ({
  kind: "ended",
  outcome,
  retryAt: day(9),
  ...more,
});
const CREATED = [begun(), ended(anApplied())];
const rotated = (token: string | null, more: Partial<RotationEnd> = {}): GroupEvent => ({
  kind: "rotation_ended",
  tokenFingerprint: token,
  failure: null,
  isOfPost: true,
  isOpen: false,
  ...more,
});
const notRotated = (more: Partial<RotationEnd> = {}): GroupEvent =>
  rotated(null, { failure: refusal, isOfPost: false, ...more });
const storingEnded = (count: number): GroupEvent => ({
  kind: "storing_ended",
  failure:
    count === 0
      ? null
      : { code: "TOKEN_NOT_EVERYWHERE", message: "one store has it", count, retryAt: day(9) },
});
const settled: GroupEvent = { kind: "settled", row: aRow(), dataSourceId: null };
const left: GroupEvent = { kind: "left", absence: "absent", clock: { ms: 5, reads: 2 } };
const update = anApply({ kind: "update", fingerprint: "new", group: aGroup({ name: "Acme 2" }) });
const updated = anApplied({ kind: "updated", change: update, serviceName: "Acme 2" });
const aGet = anApply({ kind: "update", restores: true });
const shared = { sharedToken: "of b" };

/** One event a day, from day 0 on. */
function lived(...events: readonly GroupEvent[]): {
  readonly record: GroupRecord | null;
  readonly journal: readonly JournalEntry[];
} {
  let record: GroupRecord | null = null;
  const journal: JournalEntry[] = [];
  for (const [n, event] of events.entries()) {
    const step = next(record, event, day(n));
    record = step.record;
    journal.push(...step.journal);
  }
  return { record, journal };
}

/** A GET with another data source is begun, and then the tenant is gone. */
const begunOn = (before: GroupRecord | null): GroupRecord | null =>
  next(next(before, begun(anApply({ dataSourceId: "b" })), day(3)).record, left, day(4)).record;

const recordAfter = (...events: readonly GroupEvent[]): GroupRecord | null => lived(...events).record;
const removals = (...events: readonly GroupEvent[]): string[] =>
  lived(...events).journal.flatMap(({ kind }) => (kind === "former_token" ? [] : [kind]));

const ROTATION_BEGUN: GroupEvent = { kind: "begun", change: { kind: "rotate", user_group_id: "acme" } };

describe("an intent", () => {
  test.each([
    ["of a GET", [], anApply(), "apply"],
    ["of a replacement", CREATED, aReplace(), "replace"],
    ["of a deletion", CREATED, aDelete(), "delete"],
    [
      "of a GET after a removal, which may have had its effect",
      [...CREATED, begun(aDelete())],
      update,
      "replace",
    ],
    [
      "of a rotation under way, if a GET asks for its token",
      [...CREATED, ROTATION_BEGUN],
      anApply({ kind: "update", restores: true }),
      "rotate",
    ],
  ] as const)("is that %s", (_, before, change, intent) => {
    expect(recordAfter(...before, begun(change))).toMatchObject({ intent });
  });

  test("of an update hides a rotation, so the token is marked until an answer tells it", () => {
    const marked = { intent: "apply", failures: { storing: { code: "TOKEN_NOT_EVERYWHERE" } } };
    const both = [
      [...CREATED, ROTATION_BEGUN, begun(update)],
      [...CREATED, begun(update), ROTATION_BEGUN],
    ];
    for (const events of both) {
      expect(recordAfter(...events)).toMatchObject(marked);
      expect(recordAfter(...events, ended(aFailed({ mayHaveHappened: true })))).toMatchObject(marked);
      expect(recordAfter(...events, ended(updated))?.failures.storing).toBeNull();
    }
    const told = rotated(SECOND, { isOfPost: false, isOpen: true });
    expect(recordAfter(...CREATED, begun(update), ROTATION_BEGUN, told)).toMatchObject(marked);
    for (const event of [ROTATION_BEGUN, begun(update)])
      expect(recordAfter(...CREATED, event)?.failures.storing).toBeNull();
  });

  test("names what it means to make, until one that means something else follows", () => {
    expect(recordAfter(begun(), begun())?.intended).toBe(anApply().fingerprint);
    expect(recordAfter(begun(), begun(update))).toMatchObject({ intended: null, intentAt: day(0) });
  });

  test("that is taken back leaves what else has happened meanwhile", () => {
    const before = recordAfter(begun(anApply({ dataSourceId: "a" })), ended(aFailed()));
    expect(next(begunOn(before), { kind: "unsent", before }, day(5)).record).toEqual({
      ...before,
      absence: { kind: "absent", since: day(4), at: { ms: 5, reads: 2 } },
    });
    const created = recordAfter(...CREATED);
    const rotating = [...CREATED, ROTATION_BEGUN] as const;
    expect(recordAfter(...rotating)).toMatchObject({ intent: "rotate", intentAt: day(2) });
    expect(recordAfter(...rotating, { kind: "unsent", before: created })).toEqual(created);
  });

  test("may be decided by the record; if nothing is decided, nothing changes", () => {
    const decided = (change: Change | null): GroupEvent => ({
      kind: "decided",
      by: (record) => (record && change ? { kind: "begun", change } : null),
    });
    expect(recordAfter(...CREATED, decided(update))).toEqual(recordAfter(...CREATED, begun(update)));
    expect(recordAfter(...CREATED, decided(null))).toEqual(recordAfter(...CREATED));
    expect(recordAfter(decided(update))).toBeNull();
  });

  test("of a group that nobody knows deletes and rotates nothing", () => {
    expect(recordAfter(begun(aDelete()))).toBeNull();
    expect(recordAfter(ROTATION_BEGUN)).toBeNull();
  });

  test.each([true, false])("stays if the call may have happened: %s", (mayHaveHappened) => {
    const failed = ended(aFailed({ mayHaveHappened }));
    const record = recordAfter(begun(), failed);
    expect(record).toMatchObject({ intent: mayHaveHappened ? "apply" : null, fingerprint: null });
    expect(record?.changedAt).toEqual(day(1));
    expect(recordAfter(begun(), failed, begun(), failed)?.failures.change).toMatchObject({
      count: 2,
      since: day(1),
    });
    expect(recordAfter(begun(), failed, ...CREATED)).toMatchObject({
      intent: null,
      failures: { change: null },
    });
  });

  test("of another change is not that of a rotation, and the rotation leaves it open", () => {
    const open = [...CREATED, begun(update), ROTATION_BEGUN] as const;
    expect(recordAfter(...open)?.intent).toBe("apply");
    expect(recordAfter(...open, rotated(SECOND, { isOpen: true }))?.intent).toBe("apply");
    expect(recordAfter(...open, rotated(SECOND))?.intent).toBeNull();
  });
});

describe("a new token", () => {
  const wanted: GroupEvent = { kind: "wanted", by: "choice" };
  const WANTED = [...CREATED, wanted] as const;
  const since = (...events: readonly GroupEvent[]) => recordAfter(...events)?.wantedSince;

  test("is wanted since somebody first asked, and not of a group that was never made", () => {
    expect(since(...WANTED, wanted)).toEqual(day(2));
    expect(recordAfter(...WANTED)?.wantedBy).toBe("choice");
    expect(since(begun(), ended(aFailed()), wanted)).toBeNull();
  });

  test("that is wanted by name stays so until it is there", () => {
    const named: GroupEvent = { kind: "wanted", by: "name" };
    for (const asked of [
      [wanted, named],
      [named, wanted],
    ] as const) {
      expect(recordAfter(...CREATED, ...asked)?.wantedBy).toBe("name");
      expect(recordAfter(...CREATED, ...asked, rotated(SECOND))?.wantedBy).toBeNull();
      expect(recordAfter(...CREATED, ...asked, { kind: "unwanted" })?.wantedBy).toBeNull();
    }
  });

  test.each<[string, GroupEvent]>([
    ["a POST is answered", rotated(SECOND)],
    ["the operator takes it back", { kind: "unwanted" }],
  ])("is wanted until %s", (_, event) => {
    expect(since(...WANTED, event)).toBeNull();
  });

  test.each<[string, GroupEvent]>([
    ["fails", notRotated()],
    ["is answered with the token from before", rotated(FIRST)],
    [
      "lost its answer, and a GET tells a token that may be the leaked one",
      rotated(SECOND, { isOfPost: false }),
    ],
    ["waits while the group gets an update", ended(updated)],
    [
      "waits while a GET tells another token, and says that the group is new",
      ended(anApplied({ isNew: true, token: new Secret("ugt_acme_2") })),
    ],
    ["waits while a GET of a group that was there settles its creation", ended(anApplied({ isNew: false }))],
  ])("is wanted still if its rotation %s", (_, event) => {
    expect(since(...WANTED, event)).toEqual(day(2));
  });

  test("that is wanted keeps the failures of its rotation, whatever token a GET tells meanwhile", () => {
    const lost = rotated(SECOND, { isOfPost: false });
    const count = (...events: readonly GroupEvent[]) =>
      recordAfter(...WANTED, notRotated(), ...events)?.failures.rotation?.count;
    expect(count(lost)).toBe(1);
    expect(count(lost, notRotated())).toBe(2);
    expect(count(lost, rotated(THIRD))).toBeUndefined();
  });

  test("that is wanted no more leaves no failure behind", () => {
    expect(recordAfter(...WANTED, notRotated(), { kind: "unwanted" })).toEqual(recordAfter(...CREATED));
  });
});

describe("what the service has", () => {
  test.each(["created", "adopted", "updated"] as const)("is what was sent, if it was %s", (kind) => {
    const { fingerprint, group, row } = anApply();
    expect(recordAfter(begun(), ended(anApplied({ kind })))).toMatchObject({
      ...{ fingerprint, confirmed: group, digest: row.digest, serviceName: "Acme", intent: null },
      ...{ tokenFingerprint: FIRST, tokenSince: day(1), verifiedAt: day(1), unverified: null },
      changedAt: day(1),
    });
    const asked = [...CREATED, begun(aGet), ended(anApplied({ kind: "updated", change: aGet }))];
    expect(recordAfter(...asked)?.verifiedAt).toEqual(day(1));
  });

  test("is recorded with the row and the data source that it is settled by", () => {
    const event = { kind: "settled", row: aRow({ bucket: 8, digest: "9" }), dataSourceId: "a" } as const;
    expect(recordAfter(...CREATED, event)).toMatchObject({ bucket: 8, digest: "9", dataSourceId: "a" });
  });

  test.each<[string, readonly GroupEvent[]]>([
    ["is new", [begun(update), rotated(SECOND)]],
    ["came while nothing was under way", [rotated(SECOND, { isOfPost: false })]],
    ["may be of a rotation", [ROTATION_BEGUN, rotated(SECOND, { isOfPost: false })]],
    ["may be of a GET for the same state", [begun(), rotated(SECOND, { isOfPost: false })]],
  ])("is as it was confirmed if another token %s", (_, events) => {
    const { fingerprint } = anApply();
    expect(recordAfter(...CREATED, ...events)).toMatchObject({ fingerprint, serviceName: "Acme" });
    expect(recordAfter(begun(), ended(aFailed()), ...events)?.fingerprint).toBe(UNKNOWN_STATE);
  });

  test("is unverified until an answer shows more", () => {
    const unverified = ended({ ...updated, unverified: true });
    expect(recordAfter(...CREATED, begun(update), unverified)?.unverified).toBe("updated");
    expect(recordAfter(...CREATED, begun(update), unverified, ended(updated))?.unverified).toBeNull();
    expect(recordAfter(begun(), ended(anApplied({ kind: "adopted", unverified: true })))?.unverified).toBe(
      "adopted",
    );
  });

  test("is what was confirmed before, if it was not updated", () => {
    const record = recordAfter(...CREATED, begun(update), ended(aNotUpdated({ change: update })));
    expect(record).toMatchObject({ fingerprint: anApply().fingerprint, confirmed: anApply().group });
    expect(record?.failures.change).toMatchObject({
      code: "NOT_UPDATED",
      fingerprint: "new",
      retryAt: day(9),
    });
  });

  test.each([
    ["an adopted group that was not updated", [begun(), ended(aNotUpdated())]],
    ["a group that is not as it was confirmed", [...CREATED, ended(aNotUpdated({ isUnknownState: true }))]],
    [
      "a group with another token, which a GET for another state may have made",
      [...CREATED, begun(update), rotated(SECOND, { isOfPost: false })],
    ],
    [
      "a group with another token in a ledger that went back, which may have made the group since",
      [...CREATED, { kind: "doubted" }, ROTATION_BEGUN, rotated(SECOND, { isOfPost: false })],
    ],
  ] as [string, GroupEvent[]][])("is an unknown state for %s", (_, events) => {
    expect(recordAfter(...events)).toMatchObject({ fingerprint: UNKNOWN_STATE, intent: null });
  });

  test("has no known name if a GET for another state may have made the group", () => {
    const lost = [...CREATED, begun(update), rotated(SECOND, { isOfPost: false, isOpen: true })] as const;
    expect(recordAfter(...lost, rotated(THIRD))).toMatchObject({
      fingerprint: UNKNOWN_STATE,
      serviceName: null,
    });
  });

  test("has the data source that was confirmed last, and until then the one begun first", () => {
    const of = (dataSourceId: string | null) => anApply({ dataSourceId });
    expect(recordAfter(begun(of("a")), begun(of("b")))?.dataSourceId).toBe("a");
    expect(recordAfter(begun(of("a")), ended(aFailed()), begun(of("b")))?.dataSourceId).toBe("b");
    const made = [begun(of("a")), ended(anApplied({ change: of("a") }))];
    expect(recordAfter(...made, begun(of("b")), ended(aFailed()))?.dataSourceId).toBe("a");
    expect(
      recordAfter(...made, begun(of(null)), ended(anApplied({ change: of(null) })))?.dataSourceId,
    ).toBeNull();
  });

  test("says nothing of the tenant, if the call was sent for the token", () => {
    const gone = [...CREATED, begun(aGet), left, { kind: "held", removal: "delete" }] as const;
    const told = ended(anApplied({ kind: "updated", change: aGet }));
    for (const end of [ended(aFailed({ change: aGet })), told, rotated(SECOND)])
      expect(recordAfter(...gone, end)).toMatchObject({ absence: { kind: "absent" }, held: "delete" });
    for (const end of [updated, aNotUpdated({ change: update }), aFailed({ change: update })])
      expect(recordAfter(...gone, ended(end))).toMatchObject({ absence: null, held: null });
  });
});

describe("a removal", () => {
  test("ends the record and its token, and counts once", () => {
    const { record, journal } = lived(...CREATED, begun(aDelete()), ended(aDeleted()));
    expect(record).toBeNull();
    expect(journal).toEqual([
      { kind: "former_token", user_group_id: "acme", tokenFingerprint: FIRST, since: day(1), until: day(3) },
      { kind: "delete", user_group_id: "acme", at: day(3) },
    ]);
  });

  test("whose token is still stored leaves that to be done, and counts once", () => {
    const notRemoved = { code: "TOKEN_NOT_REMOVED", message: "still needed" };
    const events = [...CREATED, left, begun(aDelete()), ended(aDeleted(), { notRemoved })];
    expect(recordAfter(...events)).toMatchObject({
      ...{ intent: "remove", fingerprint: null, confirmed: null, tokenFingerprint: null, digest: null },
      ...{ absence: { kind: "absent" }, intentAt: day(3), createdAt: day(0) },
      failures: { change: { ...notRemoved, fingerprint: DELETED, count: 1 }, rotation: null, storing: null },
    });
    expect(recordAfter(...events, begun(aDelete()))?.intent).toBe("remove");
    expect(recordAfter(...events, begun(aDelete()), ended(aDeleted()))).toBeNull();
    expect(removals(...events, begun(aDelete()), ended(aDeleted()))).toEqual(["delete"]);
  });

  test("is a replacement too, even if the new group isn't updated yet", () => {
    const replaced = ended(anApplied({ kind: "replaced", change: aReplace() }));
    expect(removals(...CREATED, begun(aReplace()), replaced)).toEqual(["replace"]);
    expect(removals(...CREATED, ended(aNotUpdated({ wasRemoved: true })))).toEqual(["replace"]);
  });

  test("that the operator named is told apart", () => {
    const deleted = ended(aDeleted({ change: aDelete({ skipsGrace: true }) }));
    expect(removals(...CREATED, begun(aDelete()), deleted)).toEqual(["skip_grace"]);
    expect(removals(...CREATED, begun(aDelete()), ended(aDeleted()), begun(aDelete()), deleted)).toEqual([
      "delete",
    ]);
  });

  test("by somebody else, that a refresh has found, is told apart", () => {
    const found = anApplied({ change: anApply({ refreshes: true }), drift: ["gone"] });
    expect(removals(...CREATED, begun(), ended(found))).toEqual(["gone"]);
  });

  test("is nothing else", () => {
    const others = [
      updated,
      aNotUpdated(),
      ...[anApply(), aReplace(), aDelete()].map((change) => aFailed({ change })),
    ];
    for (const outcome of others)
      expect(removals(...CREATED, begun(outcome.change), ended(outcome))).toEqual([]);
  });

  test("that failed leaves the absence and what is held", () => {
    const gone = [...CREATED, left, { kind: "held", removal: "delete" }, begun(aDelete())] as const;
    expect(recordAfter(...gone, ended(aFailed({ change: aDelete() })))).toMatchObject({
      ...{ absence: { kind: "absent" }, held: "delete", intent: null },
      failures: { change: { fingerprint: DELETED, count: 1 } },
    });
  });
});

describe("another token", () => {
  const token = new Secret("ugt_acme_2");
  const failing = [...CREATED, notRotated(), storingEnded(1)];
  test.each<[string, GroupEvent]>([
    ["an update", ended({ ...updated, token })],
    ["a refused update", ended(aNotUpdated({ change: update, token }))],
    ["a replacement", ended(anApplied({ kind: "replaced", change: aReplace(), token }))],
    ["a GET for the token alone", ended(anApplied({ kind: "updated", change: aGet, token }))],
    ["a rotation", rotated(SECOND)],
  ])("ends the failures of the former one: %s", (_, arrives) => {
    const { record, journal } = lived(...failing, arrives);
    expect(record).toMatchObject({ tokenFingerprint: SECOND, tokenSince: day(4) });
    expect(record?.failures).toMatchObject({ rotation: null, storing: null });
    expect(journal[0]).toMatchObject({ tokenFingerprint: FIRST, since: day(1), until: day(4) });
  });

  test("is none if the old one is found to be live: the rotation is still to be done", () => {
    const record = recordAfter(...failing, rotated(FIRST));
    expect(record).toMatchObject({ tokenSince: day(1), failures: { rotation: { count: 1 }, storing: null } });
  });

  test("of another group is noted until the group has its own", () => {
    const failed = ended(aFailed({ mayHaveHappened: true }));
    for (const found of [
      { ...failed, ...shared },
      notRotated({ ...shared, isOpen: true }),
      { ...storingEnded(1), ...shared },
    ]) {
      expect(recordAfter(...CREATED, begun(), found)).toMatchObject({ ...shared, intent: "apply" });
      for (const again of [failed, notRotated(), storingEnded(1)])
        expect(recordAfter(...CREATED, begun(), found, again)).toMatchObject(shared);
      for (const own of [ended(anApplied()), rotated(SECOND)])
        expect(recordAfter(...CREATED, begun(), found, own)?.sharedToken).toBeNull();
    }
  });
});

describe("the kinds of failures", () => {
  const all = [...CREATED, ended(aFailed({ change: update })), notRotated(), storingEnded(1)];
  const count = (record: GroupRecord | null) =>
    record &&
    Object.values(record.failures).map((failure: { count: number } | null) => (failure ? failure.count : 0));

  test("are counted each by itself", () => {
    expect(count(recordAfter(...all))).toEqual([1, 1, 1]);
    expect(count(recordAfter(...all, ended(aFailed({ change: update }))))).toEqual([2, 1, 1]);
    expect(count(recordAfter(...all, notRotated()))).toEqual([1, 2, 1]);
    expect(count(recordAfter(...all, storingEnded(2)))).toEqual([1, 1, 2]);
    expect(count(recordAfter(...all, ended(aFailed({ change: aGet }))))).toEqual([1, 1, 2]);
  });

  test.each<[string, GroupEvent, readonly number[]]>([
    ["a change that is done", ended(updated), [0, 1, 0]],
    ["a row that asks for what the group is", settled, [0, 1, 1]],
    ["a change that nothing tries again", { kind: "change_dropped" }, [0, 1, 1]],
    ["a token that is in every store", storingEnded(0), [1, 1, 0]],
    ["a token that nobody wants any more", { kind: "unwanted" }, [1, 0, 1]],
    ["a GET that told the token", ended(anApplied({ kind: "updated", change: aGet })), [1, 1, 0]],
    ["a GET whose group was not updated", ended(aNotUpdated({ change: update })), [2, 1, 0]],
  ])("end by %s", (_, event, counts) => {
    expect(count(recordAfter(...all, event))).toEqual(counts);
  });

  test("of storing are counted by whoever stores, and are as old as the first", () => {
    const { code, message } = refusal;
    const failed = (count: number, retryAt: Date) => {
      return { kind: "storing_ended", user_group_id: "acme", failure: { code, message, count, retryAt } };
    };
    expect(storingFailed("acme", null, refusal, day(4))).toEqual(failed(1, day(4)));
    const soon = new Date(day(4).getTime() + 120_000);
    expect(storingFailed("acme", { count: 3 }, refusal, day(4))).toEqual(failed(4, soon));
    expect(recordAfter(...all, storingEnded(2))?.failures.storing).toMatchObject({ count: 2, since: day(4) });
  });

  test("of storing stands if not every store has the new state's token", () => {
    const notEverywhere = { code: "TOKEN_NOT_EVERYWHERE", message: "one store has it" };
    expect(count(recordAfter(...all, ended(updated, { notEverywhere })))).toEqual([0, 1, 2]);
  });
});

describe("the tenant", () => {
  test("is gone since it was first seen to be, in this way", () => {
    const again: GroupEvent = { kind: "left", absence: "absent", clock: { ms: 9, reads: 3 } };
    const flagged: GroupEvent = { kind: "left", absence: "flagged", clock: { ms: 9, reads: 3 } };
    expect(recordAfter(...CREATED, left, again)?.absence).toMatchObject({ since: day(2), at: { ms: 9 } });
    expect(recordAfter(...CREATED, left, flagged)?.absence).toMatchObject({ kind: "flagged", since: day(3) });
  });

  test("that is back leaves only a replacement held", () => {
    const back = (removal: "delete" | "replace") =>
      recordAfter(...CREATED, left, { kind: "held", removal }, { kind: "returned" });
    expect(back("delete")).toMatchObject({ absence: null, held: null });
    expect(back("replace")).toMatchObject({ absence: null, held: "replace" });
    expect(recordAfter(...CREATED, left, { kind: "held", removal: "replace" }, settled)?.held).toBeNull();
  });

  test.each([{ kind: "returned" } as const, { kind: "change_dropped" } as const, settled])(
    "that is back has its token verified, if it has one: $kind",
    (event) => {
      const code = "TOKEN_NOT_EVERYWHERE";
      expect(recordAfter(...CREATED, left, event)).toMatchObject({
        absence: null,
        failures: {
          storing: { code, message: expect.stringContaining("came back"), count: 1, retryAt: day(3) },
        },
      });
      expect(recordAfter(...CREATED, event)).toMatchObject({ failures: { storing: null } });
      expect(recordAfter(begun(), left, event)).toMatchObject({ absence: null, failures: { storing: null } });
    },
  );

  test("whose removal is held for the same reason again changes nothing", () => {
    const held = recordAfter(...CREATED, { kind: "held", removal: "delete" });
    // Also without an absence: it is the mark that keeps the group until the next sync.
    expect(held?.held).toBe("delete");
    expect(next(held, { kind: "held", removal: "delete" }, day(9)).record).toBe(held);
  });

  test("whose group was never made is forgotten, and no other", () => {
    expect(recordAfter(begun(), ended(aFailed()), { kind: "forgotten" })).toBeNull();
    expect(recordAfter(begun(), { kind: "forgotten" })).not.toBeNull();
    expect(recordAfter(...CREATED, { kind: "forgotten" })).not.toBeNull();
  });
});

test("a refresh that an operator wants is due until an answer comes, or the operator takes it back", () => {
  const wanted: GroupEvent = { kind: "refresh_wanted" };
  const asked = recordAfter(...CREATED, wanted);
  expect(asked).toEqual({ ...recordAfter(...CREATED), doubt: "operator" });
  expect(recordAfter(begun(), wanted)).toEqual(recordAfter(begun()));
  expect(recordAfter(...CREATED, { kind: "doubted" }, wanted)?.doubt).toBe("rewind");
  expect(recordAfter(...CREATED, wanted, ended(updated))?.doubt).toBeNull();
  expect(next(asked, { kind: "trusted", doubt: "rewind" }, day(9)).record).toBe(asked);
  expect(next(asked, { kind: "trusted", doubt: "operator" }, day(9)).record?.doubt).toBeNull();
});

describe("a doubt", () => {
  const doubted: GroupEvent = { kind: "doubted" };
  const notRemoved = { code: "TOKEN_NOT_REMOVED", message: "still needed" };
  test.each<[string, readonly GroupEvent[], object]>([
    ["asks for a group", CREATED, { doubt: "rewind", unverified: "adopted" }],
    [
      "asks for a group whose update no answer has shown",
      [...CREATED, ended({ ...updated, unverified: true })],
      { doubt: "rewind", unverified: "updated" },
    ],
    ["leaves a creation under way", [begun()], {}],
    [
      "asks for a group that was never made",
      [begun(), ended(aFailed())],
      { intent: "apply", intentAt: day(9) },
    ],
    [
      "deletes a group whose token is left: its tenant may have come back",
      [...CREATED, begun(aDelete()), ended(aDeleted(), { notRemoved })],
      { intent: "delete" },
    ],
  ])("%s", (_, events, doubts) => {
    const before = recordAfter(...events);
    expect(next(before, doubted, day(9)).record).toEqual({ ...before, ...doubts });
  });

  test("ends if the operator says that nothing was lost", () => {
    const trusted = recordAfter(...CREATED, doubted, { kind: "trusted", doubt: "rewind" });
    expect(trusted).toEqual({ ...recordAfter(...CREATED), unverified: "adopted" });
  });

  test("of a removal that the ledger has forgotten leaves its token to be removed", () => {
    const forgotten = next(recordAfter(...CREATED), { kind: "doubted", last: null }, day(9)).record;
    expect(forgotten).toMatchObject({ intent: "remove", intentAt: day(9), tokenFingerprint: null });
    expect(next(forgotten, { kind: "doubted", last: null }, day(10)).record).toBe(forgotten);
  });
});

/** Every event, in the state that a random life has led to. */
function everyStep(check: (before: GroupRecord | null, event: GroupEvent, after: Step) => void): void {
  fc.assert(
    fc.property(aLife(), anEvent(), (life, event) => {
      let record: GroupRecord | null = null;
      for (const lived of life) record = next(record, lived, day(0)).record;
      check(record, event, next(record, event, day(0)));
    }),
    { seed: SEED, numRuns: 2_000 },
  );
}

interface Step {
  readonly record: GroupRecord | null;
  readonly journal: readonly JournalEntry[];
}

const isPutBack = (event: GroupEvent): boolean => event.kind === "doubted" && event.last !== undefined;

describe(`whatever a group has been through (GROUPSYNC_TEST_SEED=${SEED})`, () => {
  test("a group that was made, or may have been made, is forgotten only once it is deleted", () => {
    everyStep((before, event, { record }) => {
      if (before === null || record !== null) return;
      const isUnmade = event.kind === "unsent" && event.before === null;
      const isDeleted = event.kind === "ended" && event.outcome.kind === "deleted" && !event.notRemoved;
      expect(isUnmade || isDeleted || (event.kind === "forgotten" && isNeverMade(before))).toBe(true);
    });
  });

  test("an open intent ends only by what a call ended with, or because the call was never sent", () => {
    everyStep((before, event, { record }) => {
      if (before?.intent == null || record === null || record.intent !== null || isPutBack(event)) return;
      expect(["ended", "unsent", "rotation_ended"]).toContain(event.kind);
    });
  });

  test("a token is wanted until a rotation, a new group or a deletion ends that, or the operator", () => {
    everyStep((before, event, { record }) => {
      if (before?.wantedSince == null || record === null || record.wantedSince !== null) return;
      const isRotated = event.kind === "rotation_ended" && event.isOfPost;
      const isMade = event.kind === "ended" && "isNew" in event.outcome && event.outcome.isNew;
      const isAnother = (isRotated || isMade) && record.tokenFingerprint !== before.tokenFingerprint;
      const isDeleted = event.kind === "ended" && event.outcome.kind === "deleted";
      // A last record is newer.
      const isReplayed = event.kind === "doubted" && event.last !== undefined;
      expect(isAnother || isDeleted || isReplayed || event.kind === "unwanted").toBe(true);
    });
  });

  test("a known token that changes is kept once", () => {
    everyStep((before, event, { record, journal }) => {
      const kept = journal.filter(({ kind }) => kind === "former_token");
      const former = before?.tokenFingerprint ?? null;
      const isDead = former !== null && former !== (record?.tokenFingerprint ?? null);
      // Only a group that was begun newly has no token to lose.
      if (event.kind === "unsent") return;
      expect(kept).toEqual(isDead ? [expect.objectContaining({ tokenFingerprint: former })] : []);
    });
  });

  test("a confirmed state is one that the answered call has sent", () => {
    everyStep((before, event, { record }) => {
      const fingerprint = record?.fingerprint ?? null;
      if (fingerprint === null || fingerprint === (before?.fingerprint ?? null)) return;
      if (fingerprint === UNKNOWN_STATE || isPutBack(event)) return;
      const sent = event.kind === "ended" && event.outcome.change.kind !== "delete" && event.outcome.change;
      expect(sent ? sent.fingerprint : null).toBe(fingerprint);
    });
  });

  test("what is seen twice is recorded once", () => {
    everyStep((_, event, { record }) => {
      if (
        ![
          "doubted",
          "trusted",
          "refresh_wanted",
          "settled",
          "change_dropped",
          "forgotten",
          "left",
          "returned",
          "held",
        ].includes(event.kind)
      )
        return;
      expect(next(record, event, new Date(day(0).getTime() + 1))).toEqual({ record, journal: [] });
    });
  });

  test("a group in doubt stays so until an answer tells its name and token, the operator says so, or it goes", () => {
    everyStep((before, event, { record }) => {
      if (!before?.doubt || record === null || record.doubt === before.doubt || isPutBack(event)) return;
      if (record.doubt !== null) return expect(event.kind).toBe("doubted");
      const isAnswer = event.kind === "ended" && "token" in event.outcome;
      const isDeleted = event.kind === "ended" && event.outcome.kind === "deleted";
      expect(isAnswer || isDeleted || event.kind === "trusted").toBe(true);
    });
  });

  test("a doubt forgets nothing, and leaves no group at rest that a lost call may have changed", () => {
    everyStep((before, event, { record }) => {
      if (event.kind !== "doubted") return;
      const known = event.last === undefined ? before : (event.last ?? null);
      if (record === null) return expect(known).toBeNull();
      expect(record.doubt === "rewind" || record.intent !== null).toBe(true);
      expect(record.tokenFingerprint).toBe(known?.tokenFingerprint ?? null);
      expect(record.intent === "remove").toBe(event.last === null);
    });
  });

  test("a call that was never sent leaves the record as it was", () => {
    everyStep((before, event) => {
      if (event.kind !== "begun") return;
      const begun = next(before, event, day(0)).record;
      expect(next(begun, { kind: "unsent", before }, day(0)).record).toEqual(before);
    });
  });
});
