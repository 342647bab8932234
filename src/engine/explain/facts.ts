import { ABSENCE_TEXT } from "../../core/deletion/missing-tenants.ts";
import { type FailureKind, type RecordedFailure, triesText } from "../../core/failure/group-failures.ts";
import { fieldsOf } from "../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../core/group/ledger-group.ts";
import { type Cell, Unusable } from "../../core/group/tenant.ts";
import { DOUBT_TEXT } from "../../core/record/record.ts";
import { cardOf, type Fact, type View } from "../../core/report/card.ts";
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

function rowFacts({ columns, rows, table, tenant }: Explanation): Fact[] {
  const place = table === null ? "source.query" : printable(table);
  if (rows.length === 0) return [{ label: "row", value: `none in ${place}` }];
  const flag = tenant?.kind === "flagged" ? "; source.removed_when is true for it" : "";
  return rows.flatMap((_, index) => [
    { label: "row", value: `${rows.length > 1 ? `${index + 1} of ${rows.length} ` : ""}in ${place}${flag}` },
    ...rowOf({ columns, rows }, index).map(([column, cell]) => ({
      label: printable(`row.${column}`),
      value: cell instanceof Unusable ? `(${printable(cell.reason)})` : quoted(cell),
    })),
  ]);
}

/** The desired group, or the confirmed one if there is no desired group. */
function groupFacts({ tenant, group, changes }: Explanation): Fact[] {
  const { confirmed = null, serviceName = null, verifiedAt = null, unverified = null } = group ?? {};
  const desired = tenant?.kind === "desired" ? tenant.group : null;
  const shown = desired ?? confirmed;
  if (shown === null) return [];
  const isUnknown = group?.fingerprint === UNKNOWN_STATE;
  const notes = [
    ...(desired === null ? ["as the service last confirmed it"] : []),
    ...(confirmed === null && !isUnknown ? ["not confirmed by the service yet"] : []),
    ...(isUnknown ? ["nobody knows in which state the service has it"] : []),
    ...(confirmed !== null && serviceName !== null && serviceName !== confirmed.name
      ? [`the service last gave back the name ${quoted(serviceName)}`]
      : []),
    ...(unverified ? ["unverified: no answer shows whether the service took mapping and properties"] : []),
  ];
  const differing = new Map(changes?.map((change) => [change.field, change.from]));
  const gone = (changes ?? []).flatMap(({ field, to }) => (to === undefined ? [field] : []));
  const confirmedAt = (field: string): Pick<Fact, "tone" | "details"> => {
    if (!differing.has(field)) return {};
    const before = differing.get(field);
    return {
      tone: "attention",
      details: `the service confirmed ${before === undefined ? "nothing" : quoted(before)}`,
    };
  };
  return [
    ...[...fieldsOf(shown)].map(([field, value]) => ({
      ...{ label: printable(`group.${field}`), value: quoted(value), ...confirmedAt(field) },
    })),
    ...gone.map((field) => ({ label: printable(`group.${field}`), value: "(none)", ...confirmedAt(field) })),
    ...notes.map((value) => ({ label: "group", value })),
    ...(verifiedAt === null ? [] : [{ label: "last asked for", value: [verifiedAt] }]),
  ];
}

function openFacts(explanation: Explanation): Fact[] {
  const { group, approval, rejectedSince } = explanation;
  const { intent = null, held = null, absence = null, wantedSince: wanted, doubt } = group ?? {};
  const since = group?.intentAt ? [" since ", group.intentAt] : [];
  return [
    ...(rejectedSince === null ? [] : [{ label: "rejected", value: ["since ", rejectedSince] }]),
    ...(intent === null ? [] : [{ label: "under way", value: [intent, ...since] }]),
    ...(wanted ? [{ label: "new token wanted", value: ["since ", wanted] }] : []),
    ...(doubt ? [{ label: "in doubt", value: DOUBT_TEXT[doubt] }] : []),
    ...(held === null
      ? []
      : [
          {
            label: "held",
            value: approval === null ? `${held}; groupsync plan shows the code` : `${held}, code ${approval}`,
          },
        ]),
    ...(absence === null
      ? []
      : [{ label: "missing", value: [`${ABSENCE_TEXT[absence.kind]}, since `, absence.since] }]),
    ...failuresOf(explanation).map(([kind, failure]) => ({
      label: TRIED[kind],
      value: [`${failure.code} (`, ...triesText(failure), `): ${printable(failure.message, LONGEST)}`],
    })),
  ];
}

const TRIED: Record<FailureKind, string> = {
  change: "failed change",
  rotation: "failed rotation",
  storing: "failed storing",
};

function tokenFacts({ group, copies, tokenDestinations, isTokenTooOld, now }: Explanation): Fact[] {
  const { tokenFingerprint = null, tokenSince = null } = group ?? {};
  if (tokenFingerprint === null) return [{ label: "token", value: "the ledger knows none" }];
  const tooOld = isTokenTooOld ? "; older than rotation.max_age" : "";
  return [
    { label: "token", value: `hash ${tokenFingerprint}` },
    {
      label: "token since",
      value: tokenSince
        ? [tokenSince, `, for ${durationText(now.getTime() - tokenSince.getTime())}${tooOld}`]
        : "nobody knows",
    },
    ...tokenDestinations.map((place) => ({ label: "token goes to", value: printable(place, LONGEST) })),
    { label: "token stored", value: printable(copiesText(copies) ?? "yes", LONGEST) },
  ];
}

/** In the order of time. Removals are kept for 90 days, and hashes of tokens for a year. */
function pastFacts({ group, removals, formerTokens }: Explanation): Fact[] {
  const events: { readonly label: string; readonly at: Date; readonly note?: TimedText }[] = [
    ...(group ? [{ label: "first recorded", at: group.createdAt }] : []),
    ...removals.map(({ kind, at }) => ({ label: REMOVAL_TEXT[kind], at })),
    ...formerTokens.map(({ fingerprint, since, until }) => ({
      label: "former token",
      at: until,
      note: [`: end of ${fingerprint}, live since `, since ?? "an unknown time"],
    })),
    ...(group?.confirmed || group?.failures.change
      ? [{ label: group.failures.change ? "last failed try" : "last change", at: group.changedAt }]
      : []),
  ];
  return events
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())
    .map(({ label, at, note = [] }) => ({ label, value: [at, ...note] }));
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
