import fc from "fast-check";
import type { Outcome } from "../../src/core/apply/outcome.ts";
import { tokenFingerprint } from "../../src/core/group/group.ts";
import type { Change } from "../../src/core/plan/change.ts";
import type { EventOf, GroupEvent, RecordedOutcome } from "../../src/core/record/next.ts";
import { type GroupRecord, newRecord } from "../../src/core/record/record.ts";
import { Secret } from "../../src/core/secret/secret.ts";
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
  fingerprintOfGroup,
} from "./groups.ts";

/** A group at rest, as `aGroup()` was confirmed. */
export const aRecord = (overrides: Partial<GroupRecord> = {}): GroupRecord => ({
  ...newRecord("acme", 7, new Date("2026-02-01T00:00:00Z")),
  digest: aRow().digest,
  fingerprint: fingerprintOfGroup(aGroup()),
  confirmed: aGroup(),
  serviceName: "Acme",
  tokenFingerprint: tokenFingerprint(new Secret("ugt_acme")),
  tokenSince: new Date("2026-02-01T00:00:00Z"),
  verifiedAt: new Date("2026-02-01T00:00:00Z"),
  ...overrides,
});

export const begun = (change: Change): EventOf => ({
  kind: "begun",
  user_group_id: change.user_group_id,
  change,
});

export const ended = (outcome: Outcome, more: Partial<RecordedOutcome> = {}): EventOf => ({
  kind: "ended",
  user_group_id: outcome.change.user_group_id,
  outcome,
  ...more,
});

/** What may happen to one group, in any order. */
export const aLife = (): fc.Arbitrary<GroupEvent[]> => fc.array(anEvent(), { maxLength: 8 });

export const anEvent = (user_group_id = "acme"): fc.Arbitrary<GroupEvent> =>
  fc.oneof(
    { weight: 4, arbitrary: aChange(user_group_id).map((change): GroupEvent => ({ kind: "begun", change })) },
    { weight: 6, arbitrary: anEnd(user_group_id) },
    fc.constant<GroupEvent>({ kind: "begun", change: { kind: "rotate", user_group_id } }),
    fc.constant<GroupEvent>({ kind: "unsent", before: null }),
    fc.constant<GroupEvent>({ kind: "probed", user_group_id, baseUrl: "https://dashboards.example.com" }),
    fc
      .constantFrom<GroupEvent["kind"]>(
        "change_dropped",
        "forgotten",
        "returned",
        "unwanted",
        "refresh_wanted",
      )
      .map((kind) => ({ kind }) as GroupEvent),
    aRotationEnd(),
    fc.constantFrom("name", "choice").map((by): GroupEvent => ({ kind: "wanted", by })),
    fc
      .option(aFailure())
      .map(
        (failure): GroupEvent => ({ kind: "storing_ended", failure: failure && { ...failure, count: 1 } }),
      ),
    aDataSource().map((dataSourceId): GroupEvent => ({ kind: "settled", row: aRow(), dataSourceId })),
    fc
      .constantFrom("absent", "flagged", "unseen")
      .map((absence): GroupEvent => ({ kind: "left", absence, clock: { ms: 0, reads: 1 } })),
    fc.constantFrom(null, "delete", "replace").map((removal): GroupEvent => ({ kind: "held", removal })),
    fc.constantFrom<GroupEvent>(
      { kind: "doubted" },
      { kind: "doubted", last: null },
      { kind: "doubted", last: aRecord({ user_group_id }) },
      { kind: "trusted", doubt: "rewind" },
      { kind: "trusted", doubt: "operator" },
    ),
  );

const TOKENS = ["ugt_1", "ugt_2", "ugt_3"].map((token) => new Secret(token));

const aDataSource = (): fc.Arbitrary<string | null> => fc.constantFrom(null, "warehouse-7");

const aFailure = () =>
  fc.constant({ code: "REFUSED", message: "no", retryAt: new Date("2026-03-01T13:00:00Z") });

function aChange(user_group_id: string): fc.Arbitrary<Change> {
  const state = fc
    .record({ name: fc.constantFrom("Acme", "Acme & Sons"), dataSourceId: aDataSource() })
    .map(({ name, dataSourceId }) => {
      const group = aGroup({ user_group_id, name });
      return { user_group_id, group, dataSourceId, fingerprint: fingerprintOfGroup(group) };
    });
  return fc.oneof(
    fc
      .tuple(state, fc.constantFrom<Partial<Change>>({}, { restores: true }, { refreshes: true }))
      .map(([of, more]) => anApply({ kind: "update", ...of, ...more } as Parameters<typeof anApply>[0])),
    state.map((of) => aReplace(of)),
    fc.constant(aDelete({ user_group_id })),
  );
}

const anEnd = (user_group_id: string): fc.Arbitrary<GroupEvent> =>
  fc
    .record({
      outcome: anOutcome(user_group_id),
      refused: fc.constantFrom("none", "none", "somewhere", "removal"),
    })
    .map(({ outcome, refused }): GroupEvent => {
      const failure = { code: "TOKEN_NOT_STORED", message: "no" };
      const retryAt = new Date("2026-03-01T13:00:00Z");
      return {
        kind: "ended",
        outcome,
        retryAt,
        ...(refused === "somewhere" && "unverified" in outcome && { notEverywhere: failure }),
        ...(refused === "removal" && outcome.kind === "deleted" && { notRemoved: failure }),
      };
    });

function anOutcome(user_group_id: string): fc.Arbitrary<Outcome> {
  const applied = aChange(user_group_id).filter((change) => change.kind !== "delete");
  const token = fc.constantFrom(...TOKENS);
  return fc.oneof(
    fc
      .record({
        kind: fc.constantFrom("created", "adopted", "updated", "replaced"),
        isNew: fc.boolean(),
        change: applied,
        token,
        unverified: fc.boolean(),
      })
      .map((of) => anApplied(of as Parameters<typeof anApplied>[0])),
    fc
      .record({ change: applied, token, isUnknownState: fc.boolean(), wasRemoved: fc.boolean() })
      .map((of) => aNotUpdated(of as Parameters<typeof aNotUpdated>[0])),
    fc.record({ change: aChange(user_group_id), mayHaveHappened: fc.boolean() }).map((of) => aFailed(of)),
    fc.boolean().map((skipsGrace) => aDeleted({ change: aDelete({ user_group_id, skipsGrace }) })),
  );
}

const aRotationEnd = (): fc.Arbitrary<GroupEvent> =>
  fc
    .record({
      tokenFingerprint: fc.option(fc.constantFrom(...TOKENS.map(tokenFingerprint))),
      failure: fc.option(aFailure()),
      isOfPost: fc.boolean(),
      isOpen: fc.boolean(),
    })
    .map((end): GroupEvent => ({ kind: "rotation_ended", ...end }));
