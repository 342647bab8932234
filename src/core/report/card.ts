import { errorHelp } from "../failure/error-codes.ts";
import type { Failure } from "../failure/sync-error.ts";
import { type TimedText, withConfig } from "../text/printable.ts";

/** What is shown of a scope or of a tenant. `status`, `explain` and the pages only draw it: all is decided and worded before. */
export interface View {
  /** The worst first; never empty. */
  readonly cards: readonly Card[];
  /** The first one stands below the first card. */
  readonly sections: readonly Section[];
}

/** From `good` (nothing to do) to `bad` (somebody is needed now). */
export type Tone = "good" | "idle" | "busy" | "attention" | "bad";

/** How something is, since when, whom that concerns, and what to do. Holds no secret. */
export interface Card {
  /** Its name in JSON and on the page. */
  readonly kind: string;
  readonly tone: Tone;
  /** For people, in one line. */
  readonly sentence: string;
  /** What the sentence means, or what to do. */
  readonly advice: readonly TimedText[];
  /** What `groupsync help` explains; null if there is nothing. */
  readonly code: string | null;
  /** Set if it is known. */
  readonly since?: Date | undefined;
  /** What to type, in the order in which it is best tried. */
  readonly help: readonly Help[];
  readonly concerned?: Concerned | undefined;
}

/** A command, `groupsync …`, or statements for a database. */
export interface Help {
  /** When it is right, or what it does. */
  readonly when: string;
  readonly command: string;
}

/** The groups or rows that a card is about. */
export interface Concerned {
  /** How many there are: `51 tenants, 3 of them without any token`. */
  readonly whom: string;
  readonly items: readonly ConcernedItem[];
  /** How many the items leave out. */
  readonly more: number;
}

/** Groups or rows with which the same is wrong. */
export interface ConcernedItem {
  readonly label: string;
  /** How many groups or rows. */
  readonly count: number;
  /** The ids of the tenants, as far as they are known, a hundred at most. */
  readonly tenants: readonly string[];
  /** With the words of the first of them. */
  readonly failure?: Failure;
  readonly note?: TimedText;
}

/** How many reasons, and how many tenants of an item, are shown at first. */
export const MOST_SHOWN = 10;

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly facts: readonly Fact[];
}

export interface Fact {
  readonly label: string;
  readonly value: TimedText;
  /** Left out if the value is neither good nor bad. */
  readonly tone?: Tone;
  readonly details?: TimedText;
}

/** In a list of facts. None if there is no value. */
export const fact = (
  label: string,
  value: TimedText | null,
  { tone, details = "" }: Partial<Pick<Fact, "tone" | "details">> = {},
): readonly Fact[] =>
  value === null ? [] : [{ label, value, ...(tone && { tone }), ...(details.length > 0 && { details }) }];

/** Leaves out advice that is empty. */
export const cardOf = (kind: string, tone: Tone, sentence: string, rest: Partial<Card> = {}): Card => ({
  ...{ kind, tone, sentence, code: null, help: [] },
  ...rest,
  advice: (rest.advice ?? []).filter((text) => text.length > 0),
});

/** What stands below a card's sentence. Each command in it has the config file to work by, as those of `helpOf` have. */
export function paragraphsOf({ advice, since }: Card, configPath: string): readonly TimedText[] {
  const paragraphs = advice.map((text) =>
    [text].flat().map((part) => (part instanceof Date ? part : withConfig(part, configPath))),
  );
  return since ? [...paragraphs, ["Since ", since]] : paragraphs;
}

/** What to type, and where the code is explained. */
export function helpOf({ help, code }: Card, configPath: string): readonly Help[] {
  const isKnown = code !== null && errorHelp(code) !== undefined;
  return [
    ...help.map(({ when, command }) => ({ when, command: withConfig(command, configPath) })),
    ...(isKnown ? [{ when: `What ${code} means`, command: `groupsync help ${code}` }] : []),
  ];
}
