import { Command } from "commander";
import type { CheckOptions, CheckSetup } from "../compose/check.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import { EXIT } from "../core/report/exit-code.ts";
import type { Finding, FindingLevel } from "../core/report/finding.ts";
import { printable } from "../core/text/printable.ts";
import { quantities } from "../core/text/quantity.ts";
import { type CheckResult, runChecks } from "../engine/check/check.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { type Paint, painter } from "./output/colours.ts";

interface Flags extends Partial<CheckOptions> {
  readonly json?: boolean;
}

/**
 * `groupsync check`: tries everything that a sync needs, and leaves everything as it was. Prints all that it finds, and exits
 * with 1 if a sync or the daemon could not do its work.
 */
export const checkCommand = ({ io, flagsOf }: CommandContext): Command =>
  new Command("check")
    .description("try everything that a sync needs; changes nothing")
    .option("--notify", "send a test message to notify.webhook and notify.heartbeat")
    .option("--json", "print the findings as one JSON object")
    .action(async ({ json = false, notify = false }: Flags, command: Command) => {
      const { composeCheck } = await import("../compose/check.ts");
      await check(composeCheck(flagsOf(command).config, io, { notify }), { json }, io);
    });

/** Runs all checks, and prints each result as soon as it is there. */
export async function check(
  { checks, ...limits }: CheckSetup,
  { json }: { readonly json: boolean },
  io: CommandIo,
): Promise<void> {
  const widest = Math.max(...checks.map(({ title }) => title.length));
  const results: CheckResult[] = [];
  for await (const result of runChecks(checks, { ...limits, stop: io.stop })) {
    if (io.stop.aborted) throw new SyncError("INTERRUPTED", "told to stop before all checks had ended");
    results.push(result);
    if (!json) io.stdout(resultText(result, widest, io.isTerminal));
  }
  io.stdout(json ? checkJson(results) : summaryText(results, io.isTerminal));
  if (hasFailed(results)) io.finish(EXIT.failed);
}

const hasFailed = (results: readonly CheckResult[]): boolean =>
  results.some(({ findings }) => findings.some(({ level }) => level === "failure"));

function checkJson(results: readonly CheckResult[]): string {
  const object = {
    ok: !hasFailed(results),
    checks: results.map(({ title, findings }) => ({
      name: title,
      findings: findings.map(({ level, code, message, hint }) => ({
        level,
        code: code ?? null,
        message,
        hint: hint ?? null,
      })),
    })),
  };
  return `${JSON.stringify(object)}\n`;
}

/** In characters. */
const LONGEST_TEXT = 2_000;

const SIGNS = {
  ok: { sign: "✓", colour: "green" },
  warning: { sign: "!", colour: "yellow" },
  failure: { sign: "✗", colour: "red" },
} as const satisfies Record<FindingLevel, unknown>;

/** One line for each finding, with its remedy below it. `widest` is the length of the longest title. */
function resultText({ title, findings }: CheckResult, widest: number, colours: boolean): string {
  const paint = painter(colours);
  return findings.map((finding) => findingText(title.padEnd(widest), finding, paint)).join("");
}

function findingText(title: string, { level, code, message, hint }: Finding, paint: Paint): string {
  const { sign, colour } = SIGNS[level];
  const indent = " ".repeat(title.length + 4);
  const text = printable(code === undefined ? message : `${code}: ${message}`, LONGEST_TEXT);
  const remedy = hint === undefined ? "" : `${indent}${paint("dim", printable(hint, LONGEST_TEXT))}\n`;
  return `${paint(colour, sign)} ${title}  ${text}\n${remedy}`;
}

function summaryText(results: readonly CheckResult[], colours: boolean): string {
  const paint = painter(colours);
  // One missing right shows in several checks. What one and the same action repairs is one problem.
  const count = (wanted: FindingLevel): number =>
    new Set(
      results.flatMap(({ title, findings }) =>
        findings
          .filter(({ level }) => level === wanted)
          .map(({ code, message, hint }) => (code && hint) ?? `${title}: ${message}`),
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
