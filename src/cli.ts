import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Command, CommanderError, Option } from "commander";
import { processWarnings } from "./adapters/log/process-warnings.ts";
import { checkCommand } from "./commands/check.ts";
import type { CommandContext, CommandIo, GlobalFlags } from "./commands/context.ts";
import { explainCommand } from "./commands/explain.ts";
import { forgetCommand } from "./commands/forget.ts";
import { helpCommand } from "./commands/help.ts";
import { initCommand } from "./commands/init.ts";
import { planCommand } from "./commands/plan.ts";
import { probeCommand } from "./commands/probe.ts";
import { rotateCommand } from "./commands/rotate.ts";
import { runCommand } from "./commands/run.ts";
import { sandboxCommand } from "./commands/sandbox.ts";
import { schemaCommand } from "./commands/schema.ts";
import { statusCommand } from "./commands/status.ts";
import { syncCommand } from "./commands/sync.ts";
import { SyncError } from "./core/failure/sync-error.ts";
import { EXIT, exitCodeOfError } from "./core/report/exit-code.ts";
import { DEFAULT_CONFIG, printable, visible } from "./core/text/printable.ts";
import { LOG_LEVELS } from "./ports/log.ts";
import type { Observe } from "./ports/observer.ts";

const MAX_LINE = 2_000;

/** Runs the command that `args` name (without node and script). Errors become a message and an exit code. */
export async function cli(args: readonly string[], raw: CommandIo): Promise<void> {
  const io: CommandIo = {
    ...raw,
    stdout: (text) => raw.stdout(visible(text)),
    stderr: (text) => raw.stderr(visible(text)),
  };
  try {
    await program(io).parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed the message. --help and --version are "errors" with exit code 0.
      if (error.exitCode !== 0) io.finish(EXIT.usage);
      return;
    }
    if (!(error instanceof SyncError)) throw error;
    const lines = `groupsync: ${error.message}${error.hint === undefined ? "" : `\n  ${error.hint}`}`.split(
      "\n",
    );
    io.stderr(lines.map((line) => `${printable(line, MAX_LINE)}\n`).join(""));
    io.finish(exitCodeOfError(error));
  }
}

function program(io: CommandIo): Command {
  const { env } = io;
  const flagsOf = (command: Command): GlobalFlags => command.optsWithGlobals<GlobalFlags>();

  let observe: Observe = () => {};

  const root = new Command("groupsync")
    .description("Keeps the user groups of a dashboard service equal to the tenants in your database.")
    .version(version(), "--version", "print the version")
    .addOption(
      new Option("--config <FILE>", "the config file, also set by GROUPSYNC_CONFIG").default(
        env.GROUPSYNC_CONFIG || DEFAULT_CONFIG,
      ),
    )
    .addOption(
      new Option("--log-level <LEVEL>", "how much to log on standard error, also set by GROUPSYNC_LOG_LEVEL")
        .choices(LOG_LEVELS)
        .default(env.GROUPSYNC_LOG_LEVEL || "info"),
    )
    .hook("preAction", async (_, command) => {
      // The daemon goes on when its terminal is closed. Other commands end.
      if (command.name() !== "run") io.endOnHangUp();
      // Commander doesn't check the default, which comes from the environment.
      const { logLevel } = flagsOf(command);
      if (!LOG_LEVELS.includes(logLevel)) {
        command.error(
          `error: GROUPSYNC_LOG_LEVEL is '${logLevel}'. Allowed choices are ${LOG_LEVELS.join(", ")}.`,
        );
      }
      const { observer } = await import("./compose/observer.ts");
      observe = await observer(io, logLevel, (problem) => {
        const line = `groupsync: INTERNAL: the run goes on, but can't be shown: ${problem}`;
        io.stderr(`${printable(line, MAX_LINE)}\n`);
      });
      io.onWarning(processWarnings(observe));
    })
    .helpCommand(false)
    .addHelpText("after", EXIT_CODES);

  const context: CommandContext = {
    io,
    version: version(),
    pages: pages(),
    flagsOf,
    readConfig: async (command) => {
      const { readConfig } = await import("./compose/config.ts");
      return readConfig(flagsOf(command).config, io, observe);
    },
    // Not before a command runs is it known how much to show.
    observe: (event) => observe(event),
  };
  const commands = [
    initCommand,
    runCommand,
    syncCommand,
    checkCommand,
    probeCommand,
    planCommand,
    rotateCommand,
    statusCommand,
    explainCommand,
    forgetCommand,
    schemaCommand,
    sandboxCommand,
    helpCommand,
  ].map((command) => command(context));
  for (const command of commands) root.addCommand(command);
  for (const command of [root, ...commands]) {
    command
      .configureHelp({ showGlobalOptions: true })
      .exitOverride()
      .showHelpAfterError("(--help lists what there is)")
      .configureOutput({ writeOut: io.stdout, writeErr: io.stderr });
  }
  return root;
}

const EXIT_CODES = `
Exit codes:
  0 done   1 the run failed   2 changes pending (plan --detailed-exitcode)
  3 done, but some rows were rejected or some groups failed   4 deletions held
  5 another instance holds the lease   64 wrong usage   78 wrong config`;

function pages(): string | undefined {
  const folder = fileURLToPath(new URL("../docs", import.meta.url));
  return existsSync(folder) ? folder : undefined;
}

function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
