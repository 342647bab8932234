import type { DeleteTry, ProbeFindings } from "../../core/probe/findings.ts";
import type { Finding } from "../../core/report/finding.ts";
import { printable } from "../../core/text/printable.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import type { ProbeReport } from "../../engine/probe.ts";
import { LONGEST_REASON, withHint } from "./attention.ts";
import { type Paint, painter } from "./colours.ts";

export function probeJson(
  { run, findings, canary, updates }: ProbeReport,
  advice: readonly Finding[],
): string {
  const { error, requests, durationMs, errors } = run;
  const object = {
    outcome: error === undefined ? "ok" : error.code === "CANARY_REMAINS" ? "canary_remains" : "failed",
    canary,
    findings,
    recorded: { updates },
    advice: advice.map(({ level, message, hint }) => ({ level, message, hint: hint ?? null })),
    requests,
    duration_ms: Math.round(durationMs),
    errors,
  };
  return `${JSON.stringify(object)}\n`;
}

const UNKNOWN = "not found out";

/** The table of the findings, what follows from them, and what became of the canary. */
export function probeText(report: ProbeReport, advice: readonly Finding[], colours: boolean): string {
  const paint = painter(colours);
  const { findings, run, updates } = report;
  const lines = [
    ...(findings ? [...tableLines(rowsOf(findings)), "", ...adviceLines(advice, paint)] : []),
    ...(updates === null
      ? []
      : [
          `Recorded in the ledger: ${
            updates
              ? "a GET changes an existing group, so updates count as verified"
              : "a GET doesn't change an existing group"
          }`,
        ]),
    ...endLines(report, paint),
    `  ${quantity(run.requests, "request")} in ${durationText(run.durationMs)}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

type Row = readonly [question: string, answer: string];

function rowsOf(findings: ProbeFindings): readonly Row[] {
  const { repeated_get, update, rotation, old_token, get_after_rotation, deletes, refusals } = findings;
  return [
    ["the same GET again", repeated_get === null ? UNKNOWN : `returns ${REPEATED_GET[repeated_get]}`],
    ["a GET with another name", update === null ? UNKNOWN : UPDATE[update]],
    [
      "a POST with the token",
      rotation === "refused" ? `is refused: ${refusals.rotation}` : rotation ? `gives ${rotation}` : UNKNOWN,
    ],
    [
      "a POST with the old token",
      old_token === "refused"
        ? `is refused: ${refusals.old_token}`
        : old_token
          ? "is accepted, so the old token still lives"
          : UNKNOWN,
    ],
    ["a GET after the rotation", get_after_rotation === null ? UNKNOWN : `returns ${get_after_rotation}`],
    ...(deletes.length === 0 ? [["a DELETE", UNKNOWN] as const] : deletes.map(deleteRow)),
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

function deleteRow({ fields, result, text }: DeleteTry): Row {
  const why = text === null ? "" : `: ${text}`;
  return [`a DELETE with ${fields.join(", ")}`, `${DELETE_RESULT[result]}${why}`];
}

const DELETE_RESULT = {
  deleted: "deletes the group",
  refused: "is refused",
  failed: "failed",
} as const satisfies Record<DeleteTry["result"], string>;

function tableLines(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([question]) => question.length));
  return rows.map(([question, answer]) => `${question.padEnd(width)}  ${printable(answer, LONGEST_REASON)}`);
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
    if (open.length === 0) return [paint("green", "All found out, and the canary is deleted")];
    const questions = open.map(([question]) => question).join("; ");
    return [paint("yellow", `Not found out: ${questions}. The canary is deleted`)];
  }
  const failed = paint("red", `The probe failed: ${printable(error.message, LONGEST_REASON)}`);
  const reason = withHint(failed, error.hint);
  if (canary === null || error.code === "CANARY_REMAINS") return [reason];
  return [
    reason,
    canary.gone
      ? "  the service doesn't have the canary"
      : `  the service may have the canary, ${canary.user_group_id}: the next sync or probe deletes it`,
  ];
}
