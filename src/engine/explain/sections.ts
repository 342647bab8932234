import { ABSENCE_TEXT } from "../../core/deletion/missing-tenants.ts";
import type { FailureKind, RecordedFailure } from "../../core/failure/group-failures.ts";
import type { Group } from "../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../core/group/ledger-group.ts";
import { Unusable } from "../../core/group/tenant.ts";
import type { Json } from "../../core/text/json.ts";
import { printable, type Told } from "../../core/text/printable.ts";
import { durationText } from "../../core/text/quantity.ts";
import type { RecordedGroup } from "../../ports/ledger/scope.ts";
import { type ExplainedTenant, type Explanation, failuresOf, isTooOld, rowOf } from "./explain-tenant.ts";

export interface Section {
  readonly title: string;
  readonly lines: readonly Line[];
}

export type Line = Told | NamedValue | PastEvent;

/** Stands under other named values, as in a table. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
  /** What the service confirmed in its place; null if the same. Undefined if nobody compares the two. */
  readonly confirmed?: string | null;
}

interface PastEvent {
  readonly at: Date;
  readonly what: Told;
}

export const isTold = (line: Line): line is Told => typeof line === "string" || Array.isArray(line);

/** The longest text, and the longest value of a row or a group, in characters. */
export const LONGEST = 2_000;
const LONGEST_VALUE = 200;

/** A tenant's row, its group, its token and its past, for people. Leaves out sections that have nothing to say. */
export const sectionsOf = (explanation: Explanation): readonly Section[] => {
  const { explained } = explanation;
  return [
    { title: "Row", lines: rowLines(explained) },
    { title: "Group", lines: groupLines(explained) },
    { title: "Open", lines: openLines(explained) },
    { title: "Failures", lines: failuresOf(explained).map(failureLine) },
    { title: "Token", lines: tokenLines(explanation) },
    { title: "History", lines: historyLines(explained) },
  ].filter(({ lines }) => lines.length > 0);
};

function rowLines({ columns, rows, table, tenant }: ExplainedTenant): Line[] {
  const place = table === null ? "source.query" : printable(table);
  if (rows.length === 0) return [`none in ${place}`];
  const flag = tenant?.kind === "flagged" ? [`source.removed_when is true for it`] : [];
  return rows.flatMap((_, index) => [
    rows.length > 1 ? `${index + 1} of ${rows.length} in ${place}` : `in ${place}`,
    ...flag,
    ...rowOf({ columns, rows }, index).map(([column, cell]) => ({
      name: printable(column),
      value: cell instanceof Unusable ? `(${printable(cell.reason)})` : quoted(cell),
    })),
  ]);
}

function groupLines({ tenant, known, record, changes }: ExplainedTenant): Line[] {
  const { confirmed = null, serviceName = null, lastAsked = null, unverified = null } = record.group ?? {};
  const desired = tenant?.kind === "desired" ? tenant.group : null;
  if (desired === null && confirmed === null) return [];
  const shown = desired ?? (confirmed as Group);
  const differing = new Map(changes?.map((change) => [change.field, change]));
  const fields: [string, Json][] = [
    ["name", shown.name],
    ...Object.entries(shown.mapping).map(([key, value]): [string, Json] => [`mapping.${key}`, value]),
    ...Object.entries(shown.properties).map(([key, value]): [string, Json] => [`properties.${key}`, value]),
  ];
  const gone = (changes ?? []).filter(({ to }) => to === undefined);
  return [
    ...fields.map(([field, value]) => {
      const change = differing.get(field);
      const before = change?.from === undefined ? "nothing" : quoted(change.from);
      return { name: printable(field), value: quoted(value), confirmed: change ? before : null };
    }),
    ...gone.map(({ field, from = null }) => ({
      ...{ name: printable(field), value: "(none)", confirmed: quoted(from) },
    })),
    ...doubts({ desired, confirmed, known, serviceName, unverified }),
    ...(lastAsked === null ? [] : [["the service was last asked for it at ", lastAsked]]),
  ];
}

interface Known extends Pick<RecordedGroup, "confirmed" | "serviceName" | "unverified"> {
  readonly desired: Group | null;
  readonly known: ExplainedTenant["known"];
}

/** What the ledger can't tell of the group at the service. */
function doubts({ desired, confirmed, known, serviceName, unverified }: Known): string[] {
  const all: string[] = [];
  if (desired === null) all.push("as the service last confirmed it");
  if (confirmed === null)
    all.push(
      known?.fingerprint === UNKNOWN_STATE
        ? "the service has a group, but nobody knows in which state"
        : "the service has not confirmed it yet",
    );
  else if (known?.fingerprint === UNKNOWN_STATE) all.push("nobody knows in which state the service has it");
  if (confirmed !== null && serviceName !== null && serviceName !== confirmed.name)
    all.push(`the service last gave back the name ${quoted(serviceName)}`);
  if (unverified)
    all.push("unverified: no answer of the service shows whether it took mapping and properties");
  return all;
}

function openLines({ known, record, approval, rejectedSince }: ExplainedTenant): Told[] {
  const rejected = rejectedSince === null ? [] : [["rejected since ", rejectedSince]];
  if (known === undefined) return rejected;
  const { intent, held, absence } = known;
  const since = record.group?.intentAt ? [" since ", record.group.intentAt] : [];
  return [
    ...rejected,
    ...(intent === null ? [] : [["under way", ...since, `: ${intent}`]]),
    ...(held === null
      ? []
      : [`held: ${held}${approval === null ? "; groupsync plan shows the code" : `, code ${approval}`}`]),
    ...(absence === null ? [] : [[`${ABSENCE_TEXT[absence.kind]}, since `, absence.since]]),
  ];
}

const TRIED: Record<FailureKind, string> = {
  change: "change",
  rotation: "rotation",
  storing: "storing the token",
};

const failureLine = ([kind, { code, message, since, count, retryAt }]: [
  FailureKind,
  RecordedFailure,
]): Told => [
  `${TRIED[kind]}: ${code} (${count} in a row since `,
  since,
  ", next try after ",
  retryAt,
  `): ${printable(message, LONGEST)}`,
];

function tokenLines(explanation: Explanation): Told[] {
  const { explained, tokenDestinations, now } = explanation;
  const { record, copies } = explained;
  const { tokenFingerprint = null, tokenSince = null } = record.group ?? {};
  if (tokenFingerprint === null) return ["the ledger knows none"];
  const tooOld = isTooOld(explanation) ? "; older than rotation.max_age" : "";
  return [
    `hash ${tokenFingerprint}`,
    tokenSince
      ? ["live since ", tokenSince, `, for ${durationText(now.getTime() - tokenSince.getTime())}${tooOld}`]
      : "nobody knows since when it is live",
    ...tokenDestinations.map((destination) => `goes to ${printable(destination, LONGEST)}`),
    copiesText(copies),
  ];
}

function copiesText(copies: ExplainedTenant["copies"]): string {
  switch (copies.kind) {
    case "none known":
      return "the ledger knows none";
    case "in every store":
      return "stored: yes, the token with this hash";
    case "in some stores":
      return "stored: one store holds the token with this hash, and another one lacks it";
    case "another token":
      return `stored: no, the store holds a token with the hash ${copies.fingerprint}`;
    case "no token":
      return "stored: no, the store holds none";
    case "unreadable":
      return `stored: can't be told: ${copies.error.code}: ${printable(copies.error.message, LONGEST)}`;
  }
}

/** In the order of time. Removals are kept for 90 days, and hashes of tokens for a year. */
function historyLines({ record }: ExplainedTenant): PastEvent[] {
  const { group, removals, formerTokens } = record;
  const events: PastEvent[] = [
    ...(group ? [{ at: group.createdAt, what: "first recorded" }] : []),
    ...removals.map(({ kind, at }) => ({ at, what: REMOVAL_TEXT[kind] })),
    ...formerTokens.map(({ fingerprint, since, until }) => ({
      at: until,
      what: [`end of the token ${fingerprint}, live since `, since ?? "an unknown time"],
    })),
    ...(group?.confirmed || group?.failures.change
      ? [{ at: group.changedAt, what: lastChange(group.failures.change) }]
      : []),
  ];
  return events.toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

const lastChange = (failure: RecordedFailure | null): string =>
  failure === null ? "last answer to a change" : "last try of a change, which failed";

const quoted = (value: Json): string => printable(JSON.stringify(value), LONGEST_VALUE);

const REMOVAL_TEXT = { delete: "deleted", replace: "replaced", gone: "found gone, and made again" } as const;
