import type { CommandContext, CommandIo } from "../../src/commands/context.ts";
import { aHost } from "./a-host.ts";

/** What a command has printed so far, and the exit code that it asked for. */
export interface Printed {
  code: number;
  stdout: string;
  stderr: string;
}

/** `context` has no config: a test gives the command what it would compose from one. */
export function anIo(): { io: CommandIo; context: CommandContext; printed: Printed } {
  const printed = { code: 0, stdout: "", stderr: "" };
  const io: CommandIo = {
    ...aHost(),
    stdout: (text) => {
      printed.stdout += text;
    },
    stderr: (text) => {
      printed.stderr += text;
    },
    isTerminal: false,
    onReload: () => {},
    endOnHangUp: () => {},
    onWarning: () => {},
    quit: (code) => {
      printed.code = code;
    },
    finish: (code) => {
      printed.code = code;
    },
  };
  const context: CommandContext = {
    io,
    version: "1.2.3",
    pages: undefined,
    flagsOf: (command) => command.optsWithGlobals(),
    readConfig: () => Promise.reject(new Error("there is no config")),
    observe: () => {},
  };
  return { io, context, printed };
}
