import { cli } from "../../src/cli.ts";
import type { CommandIo } from "../../src/commands/context.ts";
import { markdownTable } from "./markdown-table.ts";

/** In the help of a command, what the page says once: the options of all commands, `--help` and `--json`. */
const SAID_ONCE = /\nGlobal Options:\n(?: .*\n)+|\n {2}(?:-h, --help|--json) .*/g;

/** A heading such as `Options:`, and its entries up to the next empty line. */
const PART = /^(\S.*):\n((?: {2,}.*\n)+)/gm;

/** An option or an argument with its meaning, which may go on in lines that are further to the right. */
const ENTRY = /^ {2}(\S.*?) {2,}(.*(?:\n {4,}.*)*)/gm;

/** These parts of a help text are on the page in other words. */
const ELSEWHERE = ["Commands", "Exit codes"];

/** What `groupsync --help` or `groupsync COMMAND --help` says of options and arguments, as tables. */
export async function commandHelp(...command: readonly string[]): Promise<string> {
  const help = (await helpOf(command)).replace(SAID_ONCE, "");
  // An unknown command gets the help of all.
  if (!help.startsWith(`Usage: ${["groupsync", ...command, "[options]"].join(" ")}`)) {
    throw new Error(`there is no command ${command.join(" ")}`);
  }
  const parts = [...help.matchAll(PART)]
    .map(([, title = "", text = ""]) => ({ title, entries: entriesIn(text) }))
    .filter(({ title, entries }) => entries.length > 0 && !ELSEWHERE.includes(title));
  if (parts.length === 0) return "It has no options of its own.";
  const hasTitles = parts.some(({ title }) => !["Arguments", "Options"].includes(title));
  if (hasTitles) return parts.map(({ title, entries }) => tableOf(title, entries)).join("\n");
  return tableOf(
    "option",
    parts.flatMap(({ entries }) => entries),
  );
}

type Entry = readonly [term: string, meaning: string];

const entriesIn = (text: string): Entry[] =>
  [...text.matchAll(ENTRY)].map(([, term = "", meaning = ""]) => [term, meaning.replaceAll(/\n +/g, " ")]);

const tableOf = (title: string, entries: readonly Entry[]): string =>
  markdownTable(
    [title, "meaning"],
    entries.map(([term, meaning]) => [`\`${term}\``, meaning]),
  );

/** The names of all commands but `help`. */
export async function commandNames(): Promise<string[]> {
  const [, list = ""] = /^Commands:\n((?: {2,}.*\n)+)/m.exec(await helpOf([])) ?? [];
  return [...list.matchAll(/^ {2}([a-z]+) /gm)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "help");
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
