import type { Command } from "commander";
import { Option } from "commander";
import type { Host } from "../compose/host.ts";
import type { Config } from "../config/config.ts";
import type { ExitCode } from "../core/report/exit-code.ts";
import type { LogLevel } from "../ports/log.ts";
import type { Observe } from "../ports/observer.ts";

/** What a command may use of its process. */
export interface CommandIo extends Host {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Whether standard output shows colours. */
  readonly isTerminal: boolean;
  /** Calls the listener for each SIGHUP, and for one that came before the listener was set. */
  readonly onReload: (listener: () => void) => void;
  /** Makes a SIGHUP end the process, as when its terminal is closed. A SIGHUP that came before counts too. */
  readonly endOnHangUp: () => void;
  /** Passes the warnings of Node.js to this listener instead of printing them. */
  readonly onWarning: (listener: (warning: Error) => void) => void;
  /** Ends the process at once, even if something is under way. */
  readonly quit: (code: ExitCode) => void;
  /** Sets the exit code of the process. It is 0 if this is never called. */
  readonly finish: (code: ExitCode) => void;
}

/** The options of all commands. */
export interface GlobalFlags {
  /** The path of the config file. */
  readonly config: string;
  readonly logLevel: LogLevel;
}

/** What every command is made of. A command loads `compose` only when it runs, so that help and mistakes come at once. */
export interface CommandContext {
  readonly io: CommandIo;
  /** Of groupsync. */
  readonly version: string;
  /** The folder of the documentation's pages; undefined if it isn't installed, as in a container. */
  readonly pages: string | undefined;
  readonly flagsOf: (command: Command) => GlobalFlags;
  /** Reads and checks the config file. Rejects with a CONFIG_… code. */
  readonly readConfig: (command: Command) => Promise<Config>;
  /** Shows a run on standard error. */
  readonly observe: Observe;
}

/** `--only` of a command, which may be given several times. */
export const onlyOption = (description: string): Option =>
  new Option("--only <ID>", `${description} (repeatable)`).argParser(
    (id: string, ids: readonly string[] = []): readonly string[] => [...ids, id],
  );

/** `--only` of `sync` and `plan`. */
export const onlyTenants = (): Option => onlyOption("only this tenant, even if its next try is not due");
