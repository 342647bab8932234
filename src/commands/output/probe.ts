import type { DeleteTry, ProbeFindings } from "../../core/probe/findings.ts";
import type { Finding } from "../../core/report/finding.ts";
import { printable } from "../../core/text/printable.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import type { ProbeReport } from "../../engine/probe.ts";
import { type Paint, painter } from "./colours.ts";

const LONGEST_TEXT = 2_000;
const UNKNOWN = "not found out";

/** The table of the findings, what follows from them, and what became of the canary. */
export function probeText(report: ProbeReport, advice: readonly Finding[], colours: boolean): string {
  const paint = painter(colours);
  const { findings, run, updates } = report;
  const { requests, durationMs } = run;
  return [
    ...(findings ? [...tableLines(rowsOf(findings)), "", ...adviceLines(advice, paint)] : []),
    ...(updates === null ? [] : [`Recorded in the ledger: ${STORED[`${updates}`]}`]),
    ...endLines(report, paint),
    `  ${quantity(requests, "request")} in ${durationText(durationMs)}`,
  ]
    .map((line) => `${line}\n`)
    .join("");
}

const STORED = {
  true: "a GET changes an existing group, so updates count as verified",
  false: "a GET doesn't change an existing group",
} as const;

/** The object of `probe --json`. */
export function probeJson(
  { run, findings, canary, updates }: ProbeReport,
  advice: readonly Finding[],
): string {
  const { error, requests, durationMs, errors } = run;
  const outcome = error === undefined ? "ok" : error.code === "CANARY_REMAINS" ? "canary_remains" : "failed";
  const object = {
    outcome,
    canary: canary && { user_group_id: canary.user_group_id, gone: canary.isGone },
    findings: findings && {
      new_user_group: findings.newFlag,
      repeated_get: findings.repeatedGet,
      update: findings.update,
      rotation: findings.rotation,
      old_token: findings.oldToken,
      get_after_rotation: findings.getAfterRotation,
      deletes: findings.deletes,
      limit_headers: Object.fromEntries(findings.limitHeaders.map(({ name, value }) => [name, value])),
      throttled: findings.throttled,
      latency_ms: Object.fromEntries(
        Object.entries(findings.latency).map(([method, { answers, least, median, most }]) => [
          method,
          { answers, least: rounded(least), median: rounded(median), most: rounded(most) },
        ]),
      ),
    },
    recorded: { updates },
    advice: advice.map(({ level, message, hint }) => ({ level, message, hint: hint ?? null })),
    requests,
    duration_ms: Math.round(durationMs),
    errors,
  };
  return `${JSON.stringify(object)}\n`;
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

type Row = readonly [question: string, answer: string];

function rowsOf(findings: ProbeFindings): readonly Row[] {
  const { newFlag, repeatedGet, update, getAfterRotation, deletes } = findings;
  return [
    ["new_user_group", newFlag ?? UNKNOWN],
    ["the same GET again", repeatedGet === null ? UNKNOWN : `returns ${REPEATED_GET[repeatedGet]}`],
    ["a GET with another name", update === null ? UNKNOWN : UPDATE[update]],
    ["a POST with the token", rotationText(findings)],
    ["a POST with the old token", oldTokenText(findings)],
    ["a GET after the rotation", getAfterRotation === null ? UNKNOWN : `returns ${getAfterRotation}`],
    ...(deletes.length === 0 ? [["a DELETE", UNKNOWN] as const] : deletes.map(deleteRow)),
    ["headers that tell of a limit", limitsText(findings)],
    ["how long an answer takes", latencyText(findings)],
  ];
}

const REPEATED_GET = {
  "the same": "the same group and token",
  "another token": "another token",
  "another name": "another name",
} as const;

const UPDATE = {
  updates: "changes the group",
  keeps: "returns the group unchanged",
  "only the answer": "returns the new name, but leaves the group unchanged",
  "another group": "makes another group",
} as const;

function rotationText({ rotation, refusals }: ProbeFindings): string {
  if (rotation === null) return UNKNOWN;
  return rotation === "refused" ? `is refused: ${refusals.rotation ?? ""}` : `gives ${rotation}`;
}

function oldTokenText({ oldToken, refusals }: ProbeFindings): string {
  if (oldToken === null) return UNKNOWN;
  return oldToken === "refused"
    ? `is refused: ${refusals.oldToken ?? ""}`
    : "is accepted, so the old token still lives";
}

function deleteRow({ fields, result, text }: DeleteTry): Row {
  const why = text === null ? "" : `: ${text}`;
  return [`a DELETE with ${fields.join(", ")}`, `${DELETE_RESULT[result]}${why}`];
}

const DELETE_RESULT = {
  deleted: "deletes the group",
  "deleted, bad answer": "deletes the group, but its answer can't be used",
  "without effect": "says that it deletes the group, and leaves it there",
  refused: "is refused",
  failed: "failed",
} as const satisfies Record<DeleteTry["result"], string>;

function limitsText({ limitHeaders, throttled }: ProbeFindings): string {
  const headers = limitHeaders.map(({ name, value }) => `${name}: ${value}`).join(", ");
  return [
    headers || "none",
    ...(throttled > 0 ? [`${quantity(throttled, "call")} refused with HTTP 429`] : []),
  ].join("; ");
}

const latencyText = ({ latency }: ProbeFindings): string =>
  Object.entries(latency)
    .map(
      ([method, { least, median, most }]) =>
        `${method} ${durationText(median)} (${durationText(least)} to ${durationText(most)})`,
    )
    .join(", ") || "no answer";

function tableLines(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([question]) => question.length));
  return rows.map(([question, answer]) => `${question.padEnd(width)}  ${printable(answer, LONGEST_TEXT)}`);
}

function adviceLines(advice: readonly Finding[], paint: Paint): string[] {
  if (advice.length === 0) return [];
  const lines = advice.flatMap(({ level, message, hint }) => [
    `${level === "ok" ? paint("green", "✓") : paint("yellow", "!")} ${message}`,
    ...(hint === undefined ? [] : [`  ${paint("dim", hint)}`]),
  ]);
  return [...lines, ""];
}

function endLines({ run, canary, findings }: ProbeReport, paint: Paint): string[] {
  const { error } = run;
  if (error === undefined) {
    const open = findings ? rowsOf(findings).filter(([, answer]) => answer === UNKNOWN) : [];
    return open.length === 0
      ? [paint("green", "All found out, and the canary is deleted")]
      : [
          paint(
            "yellow",
            `Not found out: ${open.map(([question]) => question).join("; ")}. The canary is deleted`,
          ),
        ];
  }
  const lines = [paint("red", `The probe failed: ${printable(error.message, LONGEST_TEXT)}`)];
  if (error.hint !== undefined) lines.push(`  ${printable(error.hint, LONGEST_TEXT)}`);
  if (canary === null || error.code === "CANARY_REMAINS") return lines;
  const { user_group_id, isGone } = canary;
  return [
    ...lines,
    isGone
      ? "  the service doesn't have the canary"
      : `  the service may have the canary, ${user_group_id}: the next sync or probe deletes it`,
  ];
}
