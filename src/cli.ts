import { readFileSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import { processWarnings } from "./adapters/log/process-warnings.ts";
import { type CheckOptions, type CheckSetup, checkCommand } from "./commands/check.ts";
import type { CommandIo, Opened } from "./commands/command-io.ts";
import { explainCommand } from "./commands/explain.ts";
import { type ForgetSetup, forgetCommand } from "./commands/forget.ts";
import { initCommand } from "./commands/init.ts";
import { type PlanSetup, planCommand } from "./commands/plan.ts";
import { type Ask, type ProbeSetup, probeCommand } from "./commands/probe.ts";
import { rotateCommand } from "./commands/rotate.ts";
import { runCommand } from "./commands/run.ts";
import { sandboxCommand } from "./commands/sandbox.ts";
import { schemaCommand } from "./commands/schema.ts";
import { type StatusSetup, statusCommand } from "./commands/status.ts";
import { type SyncSetup, syncCommand } from "./commands/sync.ts";
import type { Host } from "./compose/host.ts";
import type { Config } from "./config/model/config.ts";
import { SyncError } from "./core/failure/sync-error.ts";
import { EXIT, exitCodeOfError } from "./core/report/exit-code.ts";
import { LOG_LEVELS, type LogLevel } from "./core/report/log-level.ts";
import { printable, visible } from "./core/text/printable.ts";
import type { Lifecycle } from "./daemon/lifecycle.ts";
import type { ExplainSetup } from "./engine/read-explanation.ts";
import type { Observe } from "./ports/observer.ts";
import type { Dialog } from "./ports/setup/dialog.ts";

const MAX_LINE = 2_000;

interface GlobalFlags {
  readonly config: string;
  readonly logLevel: LogLevel;
}

/** Runs the command that `args` name (without node and script). Errors become a message and an exit code. */
export async function cli(args: readonly string[], raw: CommandIo, host: Host): Promise<void> {
  const io: CommandIo = {
    ...raw,
    stdout: (text) => raw.stdout(visible(text)),
    stderr: (text) => raw.stderr(visible(text)),
  };
  try {
    await program(io, host).parseAsync(args, { from: "user" });
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

function program(io: CommandIo, host: Host): Command {
  const { env } = host;
  const flagsOf = (command: Command): GlobalFlags => command.optsWithGlobals<GlobalFlags>();

  let observe: Observe = () => {};

  const root = new Command("groupsync")
    .description("Keeps the user groups of a dashboard service equal to the tenants in your database.")
    .version(version(), "--version", "print the version")
    .addOption(
      new Option("--config <FILE>", "the config file; also GROUPSYNC_CONFIG").default(
        env.GROUPSYNC_CONFIG || "./config.yaml",
      ),
    )
    .addOption(
      new Option("--log-level <LEVEL>", "how much to log on standard error; also GROUPSYNC_LOG_LEVEL")
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
      observe = await observer(host, logLevel, (problem) => {
        const line = `groupsync: INTERNAL: the run goes on, but can't be shown: ${problem}`;
        io.stderr(`${printable(line, MAX_LINE)}\n`);
      });
      io.onWarning(processWarnings(observe));
    })
    .addHelpText("after", EXIT_CODES);

  // Each command loads its own modules when it runs, so that help and mistakes come at once.
  const readConfig = async (command: Command): Promise<Config> => {
    const config = await import("./compose/config.ts");
    return config.readConfig(flagsOf(command).config, host, observe);
  };
  const openSync = async (command: Command): Promise<Opened<SyncSetup>> => {
    const { composeSync } = await import("./compose/sync.ts");
    return composeSync(await readConfig(command), host, observe);
  };
  const openForget = async (command: Command, name: string): Promise<Opened<ForgetSetup>> => {
    const { composeSync } = await import("./compose/sync.ts");
    const config = await readConfig(command);
    const { value, close } = await composeSync({ ...config, name }, host, observe);
    return { value: { ...value, configName: config.name }, close };
  };
  const openPlan = async (command: Command): Promise<Opened<PlanSetup & ExplainSetup>> => {
    const { composePlan } = await import("./compose/plan.ts");
    return composePlan(await readConfig(command), host);
  };
  const openProbe = async (command: Command): Promise<Opened<ProbeSetup>> => {
    const { composeProbe } = await import("./compose/probe.ts");
    return composeProbe(await readConfig(command), host, observe);
  };
  const openQuestion = (): Ask | undefined => {
    const streams = host.person();
    if (streams === undefined) return undefined;
    return async (question) =>
      (await import("./adapters/terminal/ask.ts")).askLine(question, streams, host.stop);
  };
  const openDialog = (): (() => Promise<Dialog>) | undefined => {
    const streams = host.person();
    return (
      streams &&
      (async () => (await import("./adapters/terminal/dialog.ts")).terminalDialog(streams, host.stop))
    );
  };
  const openCheck = async (command: Command, options: CheckOptions): Promise<CheckSetup> => {
    const { composeCheck } = await import("./compose/check/check.ts");
    return composeCheck(flagsOf(command).config, host, options);
  };
  const openStatus = async (command: Command): Promise<Opened<StatusSetup>> => {
    const { composeLedgerView } = await import("./compose/ledger-view.ts");
    const config = await readConfig(command);
    const { value: ledger, close } = await composeLedgerView(config, host);
    return { value: { ledger, name: config.name, deletion: config.deletion }, close };
  };
  const openDaemon = async (command: Command): Promise<Lifecycle> => {
    const { config, logLevel } = flagsOf(command);
    const { composeDaemon } = await import("./compose/daemon.ts");
    return composeDaemon(config, host, { version: version(), logLevel, signal: io.signal });
  };

  const commands = [
    initCommand(io, async () => (await import("./compose/init.ts")).composeInit(host)),
    runCommand(io, openDaemon),
    syncCommand(io, openSync),
    checkCommand(io, openCheck),
    probeCommand(io, openProbe, openQuestion),
    planCommand(io, openPlan),
    rotateCommand(io, openSync),
    statusCommand(io, openStatus),
    explainCommand(io, openPlan),
    forgetCommand(io, openForget, openDialog),
    schemaCommand(io, async () => (await import("./config/schema/json-schema.ts")).configJsonSchema()),
    sandboxCommand(io),
  ];
  for (const command of [root, ...commands]) {
    if (command !== root) root.addCommand(command);
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

function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
