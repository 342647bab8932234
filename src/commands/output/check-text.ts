import type { Finding, FindingLevel } from "../../core/report/finding.ts";
import { printable } from "../../core/text/printable.ts";
import { quantities } from "../../core/text/quantity.ts";
import type { CheckResult } from "../../engine/check/run-checks.ts";
import { type Paint, painter } from "./colours.ts";

const LONGEST_TEXT = 2_000;

const SIGNS = {
  ok: { sign: "✓", colour: "green" },
  warning: { sign: "!", colour: "yellow" },
  failure: { sign: "✗", colour: "red" },
} as const satisfies Record<FindingLevel, unknown>;

/** One line for each finding, with its remedy below it. `widest` is the length of the longest name. */
export function checkText({ name, findings }: CheckResult, widest: number, colours: boolean): string {
  const paint = painter(colours);
  return findings.map((finding) => findingText(name.padEnd(widest), finding, paint)).join("");
}

function findingText(name: string, { level, code, message, hint }: Finding, paint: Paint): string {
  const { sign, colour } = SIGNS[level];
  const indent = " ".repeat(name.length + 4);
  const text = printable(code === undefined ? message : `${code}: ${message}`, LONGEST_TEXT);
  const remedy = hint === undefined ? "" : `${indent}${paint("dim", printable(hint, LONGEST_TEXT))}\n`;
  return `${paint(colour, sign)} ${name}  ${text}\n${remedy}`;
}

/** The last line. */
export function summaryText(results: readonly CheckResult[], colours: boolean): string {
  const paint = painter(colours);
  // One missing right shows in several checks. What one and the same action mends is one problem.
  const count = (wanted: FindingLevel): number =>
    new Set(
      results.flatMap(({ name, findings }) =>
        findings
          .filter(({ level }) => level === wanted)
          .map(({ code, message, hint }) => (code && hint) ?? `${name}: ${message}`),
      ),
    ).size;
  const counts = quantities([
    [count("failure"), "problem"],
    [count("warning"), "warning"],
  ]);
  if (counts === "") return `${paint("green", "Everything that a sync needs is there.")}\n`;
  return count("failure") > 0
    ? `${paint("red", `Found ${counts}.`)}\n`
    : `${paint("yellow", `Everything that a sync needs is there, with ${counts}.`)}\n`;
}
