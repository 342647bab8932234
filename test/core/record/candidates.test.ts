import { describe, expect, it, test } from "vitest";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import {
  confirmedGroup,
  DOUBTED,
  isVouchedFor,
  knownGroup,
  lastVerified,
  namesOf,
  refreshCandidate,
  rotationCandidate,
} from "../../../src/core/record/candidates.ts";
import { type GroupRecord, newRecord } from "../../../src/core/record/record.ts";
import { anAbsence } from "../../builders/groups.ts";
import { aRecord } from "../../builders/records.ts";

test("groups in doubt come first, those of a rewind before others, and nothing else counts as doubted", () => {
  const order = [
    aRecord({ doubt: "rewind" }),
    aRecord({ doubt: "operator" }),
    aRecord({ verifiedAt: DOUBTED.since }),
  ].map((record) => Number(lastVerified(record)));
  expect(order).toEqual([0, 1, 2]);
});

test("groups have the names that the service gave back, cut to what a page can show", () => {
  const record = (id: string, serviceName: string | null) =>
    [id, { ...newRecord(id, 0, new Date(0)), serviceName }] as const;
  const records = new Map([
    record("acme", "Acme"),
    record("long", "\u{1f600}".repeat(300)),
    record("begun", null),
  ]);
  expect(namesOf(records)).toEqual(
    new Map([
      ["acme", "Acme"],
      ["long", "\u{1f600}".repeat(200)],
    ]),
  );
});

const gone = { absence: anAbsence() };
const unknown = { fingerprint: UNKNOWN_STATE };
const wanted = { wantedSince: new Date(0), wantedBy: "choice" } as const;
const { user_group_id, confirmed, fingerprint, bucket, digest, tokenSince } = aRecord();
const known = { group: confirmed, fingerprint, row: { bucket, digest }, dataSourceId: null };

describe.each<[string, (record: GroupRecord) => object | null, object, Partial<GroupRecord>[]]>([
  [
    "a token is vouched for",
    (record) => (isVouchedFor(record) ? record : null),
    aRecord(),
    [{ tokenFingerprint: null }, { fingerprint: null }, { intent: "apply" }, gone],
  ],
  [
    "a group can be refreshed",
    refreshCandidate,
    known,
    [{ confirmed: null }, { digest: null }, { held: "replace" }, { intent: "apply" }, gone, unknown],
  ],
  [
    "an old token can be replaced",
    rotationCandidate,
    { user_group_id, tokenSince, failure: null },
    [{ tokenSince: null }, { intent: "apply" }, gone],
  ],
  [
    "a wanted token can be replaced",
    (record) => rotationCandidate({ ...record, ...wanted }),
    { user_group_id, tokenSince, failure: null },
    [{ tokenSince: null }, { intent: "apply", confirmed: null }, { intent: "delete" }],
  ],
  [
    "the confirmed state is known",
    confirmedGroup,
    known,
    [{ confirmed: null }, { digest: null }, { fingerprint: null }],
  ],
])("%s", (_, candidate, told, others) => {
  it("of a group at rest", () => expect(candidate(aRecord())).toEqual(told));
  it.each(others)("and not of one that has %j", (of) => expect(candidate(aRecord(of))).toBeNull());
});

test("a wanted token waits for less than an old one, and a store that refuses it counts more than the service", () => {
  const failure = { code: "REFUSED", message: "no", count: 1, retryAt: new Date(0), since: new Date(0) };
  const both = { change: null, rotation: failure, storing: { ...failure, count: 2 } };
  expect(rotationCandidate(aRecord({ intent: "rotate", failures: both }))?.failure?.count).toBe(2);
  expect(rotationCandidate(aRecord({ failures: { ...both, storing: null } }))?.failure?.count).toBe(1);
  for (const state of [gone, { intent: "apply" }, { confirmed: null }] as const)
    expect(rotationCandidate(aRecord({ ...wanted, ...state }))).not.toBeNull();
});

test("the token of a group in an unknown state is vouched for, and no GET may ask for it", () => {
  expect(isVouchedFor(aRecord(unknown))).toBe(true);
  expect(knownGroup(aRecord(unknown))).toBeNull();
});
