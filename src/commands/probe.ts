import { Command, Option } from "commander";
import { type Ask, lineOf, using } from "../compose/host.ts";
import { adviceFor, type ProbedConfig } from "../core/probe/advice.ts";
import type { DeleteTry, ProbeFindings } from "../core/probe/findings.ts";
import { EXIT, exitCodeOfRun } from "../core/report/exit-code.ts";
import type { Finding } from "../core/report/finding.ts";
import { printable } from "../core/text/printable.ts";
import { durationText, quantity } from "../core/text/quantity.ts";
import type { RunPorts, RunSettings } from "../engine/leased-run.ts";
import { forgetCanary as forgetCanaryOf, type ProbeReport, probe as probeService } from "../engine/probe.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { type Paint, painter } from "./output/colours.ts";

interface ProbeSetup {
  readonly ports: RunPorts;
  readonly settings: RunSettings;
}

export interface ProbeFlags {
  readonly yes?: boolean;
  readonly forget?: string;
  readonly json?: boolean;
}

/** `groupsync probe`: finds out how the service behaves. */
export const probeCommand = ({ io, readConfig, observe }: CommandContext): Command =>
  new Command("probe")
    .description("find out how the service behaves, with one group that is deleted again")
    .option("--yes", "begin without asking")
    .addOption(
      new Option("--forget <ID>", "you have deleted this canary by hand: no sync has to delete it").conflicts(
        "yes",
      ),
    )
    .option("--json", "print the findings as one JSON object")
    .action(async ({ yes = false, forget, json = false }: ProbeFlags, command: Command) => {
      const ask = yes || forget !== undefined ? undefined : lineOf(io);
      if (!yes && forget === undefined && ask === undefined) {
        command.error(
          "error: this makes a group at the service and deletes it again: say --yes, because there is no terminal to ask on",
        );
      }
      const { composeSync } = await import("../compose/sync.ts");
      const config = await readConfig(command);
      await using(await composeSync(config, io, observe), (setup) =>
        forget === undefined
          ? probe(setup, config, { ask, json }, io)
          : forgetCanary(setup, forget, { json }, io),
      );
    });

/** Probes the service, if the person agrees or nobody is to be asked, and prints the findings. */
export async function probe(
  { ports, settings }: ProbeSetup,
  config: ProbedConfig,
  { ask, json }: { readonly ask: Ask | undefined; readonly json: boolean },
  io: CommandIo,
): Promise<void> {
  if (ask && !/^y(es)?$/i.test((await ask(introduction(settings.baseUrl))).trim())) {
    io.stderr("Nothing was sent.\n");
    io.finish(EXIT.failed);
    return;
  }
  const report = await probeService(ports, settings, io.stop);
  const advice = report.findings ? adviceFor(report.findings, config) : [];
  io.stdout(json ? probeJson(report, advice) : probeText(report, advice, io.isTerminal));
  io.finish(exitCodeOfRun(report.run.outcome, report.run.error));
}

const introduction = (baseUrl: string): string =>
  `This makes one group, a canary, at ${baseUrl}, and deletes it again:
  1. GETs make it, ask for it once more, and give it another name
  2. POSTs rotate its token, and try the old token
  3. DELETEs with its own token, until the service takes one
About ten requests. No tenant's group, row or token is touched. If this is cut short, the next sync deletes the group.
Go on? [y/N] `;

/** Takes a canary that an operator has deleted by hand out of the ledger. */
export async function forgetCanary(
  { ports, settings }: ProbeSetup,
  id: string,
  { json }: { readonly json: boolean },
  io: CommandIo,
): Promise<void> {
  const { error } = await forgetCanaryOf(ports, settings, id, io.stop);
  if (error) throw error;
  io.stdout(json ? `${JSON.stringify({ forgotten: id })}\n` : `No sync deletes ${id} any more.\n`);
}

/** The object of `probe --json`. */
function probeJson({ run, findings, canary, updates }: ProbeReport, advice: readonly Finding[]): string {
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

const LONGEST_TEXT = 2_000;
const UNKNOWN = "not found out";

/** The table of the findings, what follows from them, and what became of the canary. */
function probeText(report: ProbeReport, advice: readonly Finding[], colours: boolean): string {
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
    if (open.length === 0) return [paint("green", "All found out, and the canary is deleted")];
    const questions = open.map(([question]) => question).join("; ");
    return [paint("yellow", `Not found out: ${questions}. The canary is deleted`)];
  }
  const lines = [paint("red", `The probe failed: ${printable(error.message, LONGEST_TEXT)}`)];
  if (error.hint !== undefined) lines.push(`  ${printable(error.hint, LONGEST_TEXT)}`);
  if (canary === null || error.code === "CANARY_REMAINS") return lines;
  return [
    ...lines,
    canary.gone
      ? "  the service doesn't have the canary"
      : `  the service may have the canary, ${canary.user_group_id}: the next sync or probe deletes it`,
  ];
}
