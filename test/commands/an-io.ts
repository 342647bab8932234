import type { CommandIo } from "../../src/commands/command-io.ts";

/** What a command has printed so far, and the exit code that it asked for. */
export interface Printed {
  code: number;
  stdout: string;
  stderr: string;
}

export function anIo(): { io: CommandIo; printed: Printed } {
  const printed = { code: 0, stdout: "", stderr: "" };
  const io: CommandIo = {
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
    signal: new AbortController().signal,
    finish: (code) => {
      printed.code = code;
    },
  };
  return { io, printed };
}
