import { cli } from "../../src/cli.ts";
import type { CommandIo } from "../../src/commands/context.ts";

/** In the help of a command, the options that all commands have. */
const GLOBAL_OPTIONS = /\nGlobal Options:\n(?: .*\n)+/;

/** What `groupsync --help` or `groupsync COMMAND --help` prints, but for the options that all commands have. */
export async function commandHelp(...command: readonly string[]): Promise<string> {
  const help = (await helpOf(command)).replace(GLOBAL_OPTIONS, "");
  // An unknown command gets the help of all.
  if (!help.startsWith(`Usage: ${["groupsync", ...command, "[options]"].join(" ")}`)) {
    throw new Error(`there is no command ${command.join(" ")}`);
  }
  return `\`\`\`console\n$ ${["groupsync", ...command, "--help"].join(" ")}\n${help.trim()}\n\`\`\``;
}

async function helpOf(command: readonly string[]): Promise<string> {
  let printed = "";
  const io: CommandIo = {
    ...NOBODY,
    stdout: (text) => {
      printed += text;
    },
    stderr: (text) => {
      printed += text;
    },
    isTerminal: false,
    onReload: () => {},
    endOnHangUp: () => {},
    onWarning: () => {},
    quit: () => {},
    finish: (code) => {
      throw new Error(`groupsync ${command.join(" ")} --help ends with exit code ${code}: ${printed}`);
    },
  };
  await withoutTerminal(() => cli([...command, "--help"], io));
  return printed;
}

/** A process without variables and without anybody at a terminal. */
const NOBODY = {
  env: {},
  pid: 1,
  uid: 0,
  isRunning: () => false,
  terminal: undefined,
  person: () => undefined,
  stop: new AbortController().signal,
} as const;

/** Commander breaks the lines of a help text for the width of the terminal. */
async function withoutTerminal(print: () => Promise<void>): Promise<void> {
  const { isTTY } = process.stdout;
  process.stdout.isTTY = false;
  try {
    await print();
  } finally {
    process.stdout.isTTY = isTTY;
  }
}
