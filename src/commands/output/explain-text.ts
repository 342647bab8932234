import { ABSENCE_TEXT } from "../../core/deletion/absence-text.ts";
import type { FailureKind, RecordedFailure } from "../../core/failure/group-failures.ts";
import type { SyncError } from "../../core/failure/sync-error.ts";
import type { Group } from "../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../core/group/ledger-group.ts";
import { type Cell, Unusable } from "../../core/group/tenant.ts";
import { dueBefore, type RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import { durationText } from "../../core/text/duration.ts";
import type { Json } from "../../core/text/json.ts";
import { printable } from "../../core/text/printable.ts";
import type { ExplainedTenant } from "../../engine/explain/explain-tenant.ts";
import { type State, standingOf } from "../../engine/explain/standing.ts";
import { type Paint, painter } from "./colours.ts";
import { failureText } from "./plan-text.ts";

export interface ExplainPage {
  readonly explained: ExplainedTenant;
  /** For people to read. */
  readonly tokenDestinations: readonly string[];
  readonly rotation: RotationPolicy;
  /** Why a sync would fail. */
  readonly failures: readonly SyncError[];
  readonly now: Date;
}

const LONGEST = 2_000;
const LONGEST_VALUE = 200;
const KINDS: readonly FailureKind[] = ["change", "rotation", "storing"];

const COLOURS: Partial<Record<State, Parameters<Paint>[0]>> = {
  in_sync: "green",
  rejected: "red",
  failing: "red",
  token_not_stored: "red",
  store_unreadable: "red",
  rotation_failing: "red",
  held: "yellow",
  missing: "yellow",
  deletion_due: "yellow",
};

/** One tenant on one page: how it stands and what helps, then its row, its group, its token and its past. */
export function explainText(page: ExplainPage, colours: boolean): string {
  const paint = painter(colours);
  const { explained, failures } = page;
  const { state, reason, advice, command } = standingOf(explained);
  const title = `${printable(explained.user_group_id, LONGEST)}: ${state.replaceAll("_", " ")}`;
  const colour = COLOURS[state];
  const lines = [
    colour === undefined ? title : paint(colour, title),
    `  ${printable(reason, LONGEST)}`,
    ...(advice === null ? [] : [`  ${printable(advice, LONGEST)}`]),
    ...(command === null ? [] : [`  what helps: ${paint("bold", command)}`]),
    ...section("Row", rowLines(explained)),
    ...section("Group", groupLines(explained, paint)),
    ...section("Open", openLines(explained)),
    ...section("Failures", failuresOf(explained).map(failureLine)),
    ...section("Token", tokenLines(page)),
    ...section("History", historyLines(explained)),
    ...(failures.length > 0 ? ["", ...failures.map((failure) => failureText(failure, paint))] : []),
  ];
  return `${lines.join("\n")}\n`;
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];

/** The columns of one row that the config reads. */
export const rowOf = (
  { columns, rows }: Pick<ExplainedTenant, "columns" | "rows">,
  index: number,
): [column: string, cell: Cell][] => columns.map((column, at) => [column, rows[index]?.cells[at] as Cell]);

function rowLines({ columns, rows, table, tenant }: ExplainedTenant): string[] {
  const place = table === null ? "source.query" : printable(table);
  if (rows.length === 0) return [`none in ${place}`];
  const flag = tenant?.kind === "flagged" ? [`source.removed_when is true for it`] : [];
  return rows.flatMap((_, index) => [
    rows.length > 1 ? `${index + 1} of ${rows.length} in ${place}` : `in ${place}`,
    ...flag,
    ...aligned(
      rowOf({ columns, rows }, index).map(([column, cell]) => [
        printable(column),
        cell instanceof Unusable ? `(${printable(cell.reason)})` : quoted(cell),
      ]),
    ),
  ]);
}

function groupLines({ tenant, known, record, changes }: ExplainedTenant, paint: Paint): string[] {
  const confirmed = record.group?.confirmed ?? null;
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
  const lines = aligned([
    ...fields.map(([field, value]): [string, string] => {
      const change = differing.get(field);
      const before = change?.from === undefined ? "nothing" : quoted(change.from);
      return [
        `${change ? "~" : " "} ${printable(field)}`,
        `${quoted(value)}${change ? paint("yellow", `  the service confirmed ${before}`) : ""}`,
      ];
    }),
    ...gone.map(({ field, from = null }): [string, string] => [
      `~ ${printable(field)}`,
      `(none)${paint("yellow", `  the service confirmed ${quoted(from)}`)}`,
    ]),
  ]);
  return [...lines, ...doubts({ desired, confirmed, known, serviceName: record.group?.serviceName ?? null })];
}

interface Known {
  readonly desired: Group | null;
  readonly confirmed: Group | null;
  readonly known: ExplainedTenant["known"];
  readonly serviceName: string | null;
}

/** What the ledger can't tell of the group at the service. */
function doubts({ desired, confirmed, known, serviceName }: Known): string[] {
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
  if (known?.unverified)
    all.push("unverified: no answer of the service shows whether it took mapping and properties");
  return all;
}

function openLines({ known, record, approval, rejectedSince }: ExplainedTenant): string[] {
  const rejected = rejectedSince === null ? [] : [`rejected since ${rejectedSince.toISOString()}`];
  if (known === undefined) return rejected;
  const { intent, held, absence } = known;
  const since = record.group?.intentAt ? ` since ${record.group.intentAt.toISOString()}` : "";
  return [
    ...rejected,
    ...(intent === null ? [] : [`under way${since}: ${intent}`]),
    ...(held === null
      ? []
      : [`held: ${held}${approval === null ? "; groupsync plan shows the code" : `, code ${approval}`}`]),
    ...(absence === null ? [] : [`${ABSENCE_TEXT[absence.kind]}, since ${absence.since.toISOString()}`]),
  ];
}

/** The failures by what was tried. */
export const failuresOf = ({ record }: ExplainedTenant): [FailureKind, RecordedFailure][] =>
  KINDS.flatMap((kind): [FailureKind, RecordedFailure][] => {
    const failure = record.group?.failures[kind];
    return failure ? [[kind, failure]] : [];
  });

const TRIED: Record<FailureKind, string> = {
  change: "change",
  rotation: "rotation",
  storing: "storing the token",
};

const failureLine = ([kind, { code, message, since, count, retryAt }]: [
  FailureKind,
  RecordedFailure,
]): string =>
  `${TRIED[kind]}: ${code} (${count} in a row since ${since.toISOString()}, next try after ${retryAt.toISOString()}): ${printable(message, LONGEST)}`;

function tokenLines(page: ExplainPage): string[] {
  const { explained, tokenDestinations, now } = page;
  const { record, copies } = explained;
  const { tokenFingerprint = null, tokenSince = null } = record.group ?? {};
  if (tokenFingerprint === null) return ["the ledger knows none"];
  const age = tokenSince
    ? `live since ${tokenSince.toISOString()}, for ${durationText(now.getTime() - tokenSince.getTime())}`
    : "nobody knows since when it is live";
  return [
    `hash ${tokenFingerprint}`,
    `${age}${isTooOld(page) ? "; older than rotation.max_age" : ""}`,
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

/** Whether the token is older than `rotation.max_age`. */
export function isTooOld({ explained, rotation, now }: ExplainPage): boolean {
  const due = dueBefore(rotation, now);
  const since = explained.record.group?.tokenSince ?? null;
  return due !== null && since !== null && since <= due;
}

/** In the order of time. Removals are kept for 90 days, and hashes of tokens for a year. */
function historyLines({ record }: ExplainedTenant): string[] {
  const { group, removals, formerTokens } = record;
  const events: [at: Date, what: string][] = [
    ...(group ? [[group.createdAt, "first recorded"] as [Date, string]] : []),
    ...removals.map(({ kind, at }): [Date, string] => [at, kind === "delete" ? "deleted" : "replaced"]),
    ...formerTokens.map(({ fingerprint, since, until }): [Date, string] => [
      until,
      `end of the token ${fingerprint}, live since ${since?.toISOString() ?? "an unknown time"}`,
    ]),
    ...(group?.confirmed || group?.failures.change
      ? [[group.changedAt, lastChange(group.failures.change)] as [Date, string]]
      : []),
  ];
  return events
    .toSorted(([a], [b]) => a.getTime() - b.getTime())
    .map(([at, what]) => `${at.toISOString()}  ${what}`);
}

const lastChange = (failure: RecordedFailure | null): string =>
  failure === null ? "last answer to a change" : "last try of a change, which failed";

/** Two columns. */
function aligned(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...pairs.map(([left]) => left.length));
  return pairs.map(([left, right]) => `${left.padEnd(width)}  ${right}`);
}

const quoted = (value: Json): string => printable(JSON.stringify(value), LONGEST_VALUE);
