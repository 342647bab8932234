import { ABSENCE_TEXT } from "../../core/deletion/missing-tenants.ts";
import { type FailureKind, type RecordedFailure, triesText } from "../../core/failure/group-failures.ts";
import { fieldsOf } from "../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../core/group/ledger-group.ts";
import { type Cell, Unusable } from "../../core/group/tenant.ts";
import { DOUBT_TEXT } from "../../core/record/record.ts";
import { cardOf, type Fact, fact, type View } from "../../core/report/card.ts";
import type { Json } from "../../core/text/json.ts";
import { printable, printableId, shellWord, type TimedText } from "../../core/text/printable.ts";
import { durationText } from "../../core/text/quantity.ts";
import type { Explanation } from "./explain-tenant.ts";
import { copiesText, standingOf } from "./standing.ts";

/** The longest text, and the longest value of a row or a group, in characters. */
const LONGEST = 2_000;
const LONGEST_VALUE = 200;

/** All that is shown of a tenant. `whenMade`: when a new tenant's group is made, if that is known. */
export function tenantView(explanation: Explanation, whenMade: TimedText = ""): View {
  const { state, tone, reason, advice, command } = standingOf(explanation);
  const { user_group_id, failures } = explanation;
  const title = `${printableId(user_group_id, LONGEST)}: ${state.replaceAll("_", " ")}`;
  const standing = cardOf("tenant", tone, title, {
    advice: [reason, advice ?? "", state === "new" ? whenMade : ""],
    help: command === null ? [] : [{ when: advice === null ? "What helps" : "Then", command }],
  });
  // Ledger and store can't tell that somebody else has changed the token at the service.
  const askAgain = {
    when: "If its token is refused all the same",
    command: `groupsync sync --refresh --only ${shellWord(user_group_id)}`,
  };
  const failing = failures.map(({ code, message, hint = "" }) =>
    cardOf(code, "bad", `A sync would fail: ${message}`, { code, advice: [hint] }),
  );
  return {
    cards: [state === "in_sync" ? { ...standing, help: [askAgain] } : standing, ...failing],
    sections: [{ id: "facts", title: "What is known", facts: factsOf(explanation) }],
  };
}

/** What is known of a tenant: its row, its group, what is open, its token and its past. Leaves out what there isn't. */
const factsOf = (explanation: Explanation): readonly Fact[] => [
  ...rowFacts(explanation),
  ...groupFacts(explanation),
  ...openFacts(explanation),
  ...tokenFacts(explanation),
  ...pastFacts(explanation),
];

function rowFacts({ columns, rows, table, tenant }: Explanation): readonly Fact[] {
  const place = table === null ? "source.query" : printable(table);
  if (rows.length === 0) return fact("row", `none in ${place}`);
  const flag = tenant?.kind === "flagged" ? "; source.removed_when is true for it" : "";
  return rows.flatMap((_, index) => [
    ...fact("row", `${rows.length > 1 ? `${index + 1} of ${rows.length} ` : ""}in ${place}${flag}`),
    ...rowOf({ columns, rows }, index).flatMap(([column, cell]) =>
      fact(
        printable(`row.${column}`),
        cell instanceof Unusable ? `(${printable(cell.reason)})` : quoted(cell),
      ),
    ),
  ]);
}

/** The desired group, or the confirmed one if there is no desired group. */
function groupFacts({ tenant, group, changes }: Explanation): readonly Fact[] {
  const { confirmed = null, serviceName = null, verifiedAt = null, unverified = null } = group ?? {};
  const desired = tenant?.kind === "desired" ? tenant.group : null;
  const shown = desired ?? confirmed;
  if (shown === null) return [];
  const isUnknown = group?.fingerprint === UNKNOWN_STATE;
  const isRenamed = confirmed !== null && serviceName !== null && serviceName !== confirmed.name;
  const differing = new Map(changes?.map((change) => [change.field, change.from]));
  const gone = (changes ?? []).flatMap(({ field, to }) => (to === undefined ? [field] : []));
  const groupFact = (field: string, value: string): readonly Fact[] => {
    const before = differing.get(field);
    const details = `the service confirmed ${before === undefined ? "nothing" : quoted(before)}`;
    return fact(
      printable(`group.${field}`),
      value,
      differing.has(field) ? { tone: "attention", details } : {},
    );
  };
  return [
    ...[...fieldsOf(shown)].flatMap(([field, value]) => groupFact(field, quoted(value))),
    ...gone.flatMap((field) => groupFact(field, "(none)")),
    ...fact("group", desired === null ? "as the service last confirmed it" : null),
    ...fact("group", confirmed === null && !isUnknown ? "not confirmed by the service yet" : null),
    ...fact("group", isUnknown ? "nobody knows in which state the service has it" : null),
    ...fact("group", isRenamed ? `the service last gave back the name ${quoted(serviceName)}` : null),
    ...fact("group", unverified && UNVERIFIED),
    ...fact("last asked for", verifiedAt && [verifiedAt]),
  ];
}

const UNVERIFIED = "unverified: no answer shows whether the service took mapping and properties";

function openFacts(explanation: Explanation): readonly Fact[] {
  const { group, approval, rejectedSince } = explanation;
  const { intent = null, held = null, absence = null, wantedSince = null, doubt = null } = group ?? {};
  const since = group?.intentAt ? [" since ", group.intentAt] : [];
  const code = approval === null ? "; groupsync plan shows the code" : `, code ${approval}`;
  return [
    ...fact("rejected", rejectedSince && ["since ", rejectedSince]),
    ...fact("under way", intent && [intent, ...since]),
    ...fact("new token wanted", wantedSince && ["since ", wantedSince]),
    ...fact("in doubt", doubt && DOUBT_TEXT[doubt]),
    ...fact("held", held && `${held}${code}`),
    ...fact("missing", absence && [`${ABSENCE_TEXT[absence.kind]}, since `, absence.since]),
    ...failuresOf(explanation).flatMap(([kind, failure]) =>
      fact(`failed ${kind}`, [
        `${failure.code} (`,
        ...triesText(failure),
        `): ${printable(failure.message, LONGEST)}`,
      ]),
    ),
  ];
}

function tokenFacts({ group, copies, tokenDestinations, isTokenTooOld, now }: Explanation): readonly Fact[] {
  const { tokenFingerprint = null, tokenSince = null } = group ?? {};
  if (tokenFingerprint === null) return fact("token", "the ledger knows none");
  const tooOld = isTokenTooOld ? "; older than rotation.max_age" : "";
  const lived = durationText(now.getTime() - (tokenSince ?? now).getTime());
  return [
    ...fact("token", `hash ${tokenFingerprint}`),
    ...fact("token since", tokenSince ? [tokenSince, `, for ${lived}${tooOld}`] : "nobody knows"),
    ...tokenDestinations.flatMap((place) => fact("token goes to", printable(place, LONGEST))),
    ...fact("token stored", printable(copiesText(copies) ?? "yes", LONGEST)),
  ];
}

/** In the order of time. Removals are kept for 90 days, and hashes of tokens for a year. */
function pastFacts({ group, removals, formerTokens }: Explanation): readonly Fact[] {
  const isTried = group?.confirmed || group?.failures.change;
  const events: (readonly [label: string, at: Date, note?: TimedText])[] = [
    ...(group ? [["first recorded", group.createdAt] as const] : []),
    ...removals.map(({ kind, at }) => [REMOVAL_TEXT[kind], at] as const),
    ...formerTokens.map(({ fingerprint, since, until }) => {
      const note = [`: end of ${fingerprint}, live since `, since ?? "an unknown time"];
      return ["former token", until, note] as const;
    }),
    ...(group && isTried
      ? [[group.failures.change ? "last failed try" : "last change", group.changedAt] as const]
      : []),
  ];
  return events
    .toSorted(([, a], [, b]) => a.getTime() - b.getTime())
    .flatMap(([label, at, note = []]) => fact(label, [at, ...note]));
}

const REMOVAL_TEXT = {
  delete: "deleted",
  skip_grace: "deleted by sync --skip-grace",
  replace: "replaced",
  gone: "found gone",
} as const;

const quoted = (value: Json): string => printable(JSON.stringify(value), LONGEST_VALUE);

const KINDS: readonly FailureKind[] = ["change", "rotation", "storing"];

/** The columns of one row that the config reads. */
export const rowOf = (
  { columns, rows }: Pick<Explanation, "columns" | "rows">,
  index: number,
): [column: string, cell: Cell][] => columns.map((column, at) => [column, rows[index]?.cells[at] as Cell]);

/** The failures by what was tried. */
export const failuresOf = ({ group }: Explanation): [FailureKind, RecordedFailure][] =>
  KINDS.flatMap((kind): [FailureKind, RecordedFailure][] => {
    const failure = group?.failures[kind];
    return failure ? [[kind, failure]] : [];
  });
