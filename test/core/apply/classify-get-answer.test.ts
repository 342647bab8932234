import { describe, expect, it } from "vitest";
import {
  classifyGetAnswer,
  type GetResult,
  type KnownBeforeGet,
} from "../../../src/core/apply/classify-get-answer.ts";
import { NO_EVIDENCE, type UpdateEvidence } from "../../../src/core/apply/update-evidence.ts";
import { aGroup } from "../../builders/groups.ts";

/** What the service answers to a group that is sent with the name "New". */
type Answered = "made" | "there, the old name" | "there, the new name";
type Before = keyof typeof befores;
type Updates = "updates unknown" | "service updates" | "service keeps";
/** A group that an earlier attempt may have made has another token than the ledger knows. */
type Sent = "not sent before" | "maybe sent before";

const answers: Record<Answered, { isNew: boolean; name: string }> = {
  made: { isNew: true, name: "New" },
  "there, the old name": { isNew: false, name: "Old" },
  "there, the new name": { isNew: false, name: "New" },
};
const befores = {
  "not in the ledger": { known: false, confirmedName: null, confirmedAs: null },
  "in the ledger, never confirmed": { known: true, confirmedName: null, confirmedAs: null },
  "never confirmed, perhaps made otherwise": { known: true, confirmedName: null, confirmedAs: null },
  "confirmed as Old": { known: true, confirmedName: "Old", confirmedAs: null },
  "confirmed as Old, perhaps made otherwise": { known: true, confirmedName: "Old", confirmedAs: null },
  "confirmed as New, otherwise different": { known: true, confirmedName: "New", confirmedAs: null },
  "confirmed like this": { known: true, confirmedName: "New", confirmedAs: "verified" },
  "adopted like this": { known: true, confirmedName: "New", confirmedAs: "adopted" },
  "updated like this, unverified": { known: true, confirmedName: "New", confirmedAs: "updated" },
} satisfies Record<string, Pick<KnownBeforeGet, "known" | "confirmedName" | "confirmedAs">>;
const UPDATES: UpdateEvidence = { ...NO_EVIDENCE, took: ["b"] };
const updates: Record<Updates, UpdateEvidence> = {
  "updates unknown": NO_EVIDENCE,
  "service updates": UPDATES,
  "service keeps": { ...NO_EVIDENCE, kept: ["b", "c", "d"] },
};
const sents: Record<Sent, boolean> = { "not sent before": false, "maybe sent before": true };

const keys = <K extends string>(record: Record<K, unknown>): K[] => Object.keys(record) as K[];

const created = { kind: "created", unverified: false } as const;
/** It was sent another name than the one that the service had taken, and kept that one. */
const kept = { kind: "not_updated", shown: "kept", isUnknownState: false } as const;
/** Nobody asked for the name that it has, or the service confirmed another name last. */
const unknown = { kind: "not_updated", isUnknownState: true } as const;
const renamed = { kind: "updated", unverified: false, shown: "took" } as const;
const taken = { kind: "updated", unverified: false } as const;
const unverified = { kind: "updated", unverified: true } as const;

type Row = Record<Updates, Partial<GetResult>>;
const always = (verdict: Partial<GetResult>): Row => ({
  "updates unknown": verdict,
  "service updates": verdict,
  "service keeps": verdict,
});
/** Whether it was taken depends on what is known of the service. */
const asFarAsKnown = (kind: "created" | "adopted"): Row => ({
  "updates unknown": { kind, unverified: true },
  "service updates": { kind, unverified: false },
  "service keeps": { kind, unverified: true },
});
const unseen: Row = {
  "updates unknown": unverified,
  "service updates": taken,
  "service keeps": { kind: "not_updated", isUnknownState: false },
};
/** A name that was never taken before: a service that updates has made it of the name sent. */
const rewritten = (result: Partial<GetResult>): Row => ({ ...always(unknown), "service updates": result });
const either = (row: Row): Record<Sent, Row> => ({ "not sent before": row, "maybe sent before": row });

const whatever = (verdict: Partial<GetResult>) =>
  Object.fromEntries(keys(befores).map((before) => [before, either(always(verdict))])) as Record<
    Before,
    Record<Sent, Row>
  >;

const table: Record<Answered, Record<Before, Record<Sent, Row>>> = {
  made: whatever(created),
  "there, the old name": {
    "not in the ledger": {
      "not sent before": rewritten({ kind: "adopted", unverified: false }),
      "maybe sent before": rewritten(created),
    },
    "in the ledger, never confirmed": either(rewritten(created)),
    "never confirmed, perhaps made otherwise": either(rewritten(taken)),
    "confirmed as Old": either(always(kept)),
    "confirmed as Old, perhaps made otherwise": either(always(kept)),
    "confirmed as New, otherwise different": either(always(unknown)),
    "confirmed like this": either(always(unknown)),
    "adopted like this": either(always(unknown)),
    "updated like this, unverified": either(always(unknown)),
  },
  "there, the new name": {
    "not in the ledger": { "not sent before": asFarAsKnown("adopted"), "maybe sent before": always(created) },
    "in the ledger, never confirmed": {
      "not sent before": asFarAsKnown("created"),
      "maybe sent before": always(created),
    },
    "never confirmed, perhaps made otherwise": either({
      ...unseen,
      "service keeps": { kind: "not_updated", isUnknownState: true },
    }),
    "confirmed as Old": {
      "not sent before": always(renamed),
      // It may have been gone, and made anew by the call whose answer was lost.
      "maybe sent before": always(taken),
    },
    "confirmed as Old, perhaps made otherwise": {
      // Whatever was sent before, this GET has changed it.
      "not sent before": always(renamed),
      "maybe sent before": unseen,
    },
    "confirmed as New, otherwise different": either(unseen),
    "confirmed like this": either(always(taken)),
    "adopted like this": either({ ...asFarAsKnown("adopted"), "service updates": taken }),
    "updated like this, unverified": either(unseen),
  },
};

const cases = keys(table).flatMap((answer) =>
  keys(befores).flatMap((before) => keys(sents).map((sent) => [answer, before, sent] as const)),
);

describe("the group is", () => {
  it.each(cases)("%s, and was %s, %s", (answer, before, sent) => {
    for (const known of keys(updates)) {
      const expectation: KnownBeforeGet = {
        sent: aGroup({ name: "New" }),
        ...befores[before],
        acceptedName: befores[before].confirmedName,
        hasKnownToken: !sents[sent],
        mayBeAnother: before.endsWith("perhaps made otherwise"),
        mayHaveBeenSent: sents[sent],
        evidence: updates[known],
      };
      const verdict = classifyGetAnswer(expectation, answers[answer]);
      const { reason, ...rest } = { reason: undefined, ...verdict };
      expect({ known, ...rest }).toEqual({ known, ...table[answer][before][sent][known] });
    }
  });
});

/** What is known of a group that the service took under the name "Old". */
const before: KnownBeforeGet = {
  sent: aGroup(),
  known: true,
  confirmedName: "Old",
  acceptedName: "Old",
  confirmedAs: null,
  mayBeAnother: false,
  mayHaveBeenSent: false,
  hasKnownToken: true,
  evidence: NO_EVIDENCE,
};

it.each([
  ["spaces", "  Acme   Inc. ", "Acme Inc."],
  ["composed characters", "Cafe\u0301", "Café"],
])("a name that the service gives back with other %s is the same name", (_, sent, answered) => {
  const verdict = classifyGetAnswer(
    { ...before, sent: aGroup({ name: sent }) },
    { isNew: false, name: answered },
  );
  expect(verdict).toMatchObject({ kind: "updated" });
});

it("a group that was not updated says both names", () => {
  const expectation = { ...before, sent: aGroup({ name: "New" }) };
  expect(classifyGetAnswer(expectation, { isNew: false, name: "Old" })).toMatchObject({
    reason: 'the service still calls it "Old" and not "New"',
  });
  expect(classifyGetAnswer(expectation, { isNew: false, name: "Theirs" })).toMatchObject({
    reason: 'the service calls it "Theirs" and not "New"',
  });
  const keeps = { ...expectation, confirmedName: "New", evidence: updates["service keeps"] };
  expect(classifyGetAnswer(keeps, { isNew: false, name: "New" })).toMatchObject({
    reason: "this service has shown that a GET doesn't change an existing group",
  });
});

describe("the name in an answer", () => {
  const LONG = "A very long name";
  const ANEW = { hasKnownToken: false };
  const CONFIRMED = { confirmedName: "Acme", confirmedAs: "verified" } as const;
  const UNSENT = { evidence: UPDATES, acceptedName: null };
  const REPEATS = { evidence: { ...NO_EVIDENCE, probe: false } };
  const NEVER_TOLD = { known: false, acceptedName: null, confirmedName: null };
  const CUT = { acceptedName: LONG, confirmedName: "A very" };
  it.each<[string, string, Partial<KnownBeforeGet>, string, Partial<GetResult>]>([
    ["cut as before", LONG, CUT, "A very", unverified],
    ["cut to the same", `${LONG} too`, CUT, "A very", unverified],
    ["once cut, of another one", "B", CUT, "A very", kept],
    [
      "with the same prefix as before",
      "Acme",
      { acceptedName: "Acme", confirmedName: "eu-Acme" },
      "eu-Acme",
      unverified,
    ],
    [
      "with a prefix, of a group that was confirmed like this",
      "Acme",
      { acceptedName: null, confirmedName: "eu-Acme", confirmedAs: "verified" },
      "eu-Acme",
      taken,
    ],
    [
      "as before, of a group that was confirmed like this, and perhaps made anew",
      "Acme",
      { ...CONFIRMED, mayBeAnother: true, hasKnownToken: false },
      "Acme",
      unverified,
    ],
    [
      "as before, of a group that was confirmed like this, and that nobody has made anew",
      "Acme",
      { ...CONFIRMED, mayBeAnother: true },
      "Acme",
      taken,
    ],
    ["without letters", " !  ? ", {}, "! ?", renamed],
    ["without letters, and not the one sent", "! ?", {}, "!?", unknownHere(true)],
    ["in other letters", "OLD", {}, "Old", unknownHere(false)],
    ["in other letters, of one that updates", "OLD", { evidence: UPDATES }, "Old", unknownHere(false)],
    ["never taken before", "<b>", {}, "&lt;b&gt;", renamed],
    ["never taken before, of a group that somebody made anew", "<b>", ANEW, "&lt;b&gt;", unverified],
    ["that somebody else may have given", "New", {}, "Theirs", unknownHere(true)],
    ["that can't be made of the name sent, of one that updates", "Ö", { evidence: UPDATES }, "O", taken],
    ["the first, made of the name sent", LONG, NEVER_TOLD, "A very", { kind: "adopted", unverified: true }],
    ["the first, of somebody else's group", LONG, NEVER_TOLD, "Theirs", unknownHere(true)],
    [
      "not taken before, of one that updates",
      "<b>",
      { ...UNSENT, confirmedName: "&lt;b&gt;" },
      "&lt;b&gt;",
      taken,
    ],
    [
      "somebody else's, of one that updates",
      "New",
      { ...UNSENT, confirmedName: "Theirs" },
      "Theirs",
      unknownHere(false),
    ],
    ["as sent, of a service that only repeats it", "New", REPEATS, "New", { kind: "not_updated" }],
  ])("%s", (_, sent, known, answered, expected) => {
    const verdict = classifyGetAnswer(
      { ...before, sent: aGroup({ name: sent }), ...known },
      { isNew: false, name: answered },
    );
    expect({ shown: undefined, ...verdict }).toMatchObject({ shown: undefined, ...expected });
  });

  it("shows no update if the name sent was accepted before, and comes back", () => {
    const known = { ...before, sent: aGroup({ name: "New" }), acceptedName: "New", confirmedName: "Old" };
    const verdict = classifyGetAnswer(known, { isNew: false, name: "New" });
    expect(verdict).toEqual(taken);
  });
});

function unknownHere(isUnknownState: boolean): Partial<GetResult> {
  return { kind: "not_updated", isUnknownState };
}
