import { jsonObjectIn } from "../text/json.ts";

/** Lies with the tokens of a destination and says which config and ledger they belong to. */
export interface OwnersMark {
  /** The `name` of the config. Null if the tokens belong to another config and its name is not known. */
  readonly name: string | null;
  /** Null, like the ledger's id, if only the name of another config is known. */
  readonly baseUrl: string | null;
  /** Null until the service has answered. */
  readonly teamId: number | null;
  readonly ledgerId: string | null;
}

/** Whether a config can have this name. */
export const isScopeName = (text: string): boolean => /^[\w.-]{1,64}$/.test(text);

export const isSameMark = (one: OwnersMark | null, other: OwnersMark | null): boolean =>
  one?.name === other?.name &&
  one?.baseUrl === other?.baseUrl &&
  one?.teamId === other?.teamId &&
  one?.ledgerId === other?.ledgerId;

/** The mark as text, for stores that keep text. */
export const formatMark = ({ name, baseUrl, teamId, ledgerId }: OwnersMark): string =>
  JSON.stringify({ name, base_url: baseUrl, team: teamId, ledger: ledgerId });

/** Null if the text is not a complete mark. */
export function parseMark(text: string): OwnersMark | null {
  const value = jsonObjectIn(text);
  if (value === undefined) return null;
  const { name, base_url: baseUrl, team, ledger: ledgerId } = value;
  if (typeof name !== "string" || typeof baseUrl !== "string" || typeof ledgerId !== "string") return null;
  return { name, baseUrl, teamId: typeof team === "number" ? team : null, ledgerId };
}

/** For messages: `"production" (https://dashboards.example.com, team 7)`. */
export function describeMark({ name, baseUrl, teamId }: OwnersMark): string {
  if (name === null) return "somebody else";
  const known = [...(baseUrl === null ? [] : [baseUrl]), ...(teamId === null ? [] : [`team ${teamId}`])];
  return JSON.stringify(name) + (known.length > 0 ? ` (${known.join(", ")})` : "");
}

/** The config that wants to write to a destination. */
export interface Claimant {
  readonly name: string;
  readonly baseUrl: string;
  /** Null if the ledger has no tables yet. */
  readonly ledgerId: string | null;
  /** Whether the ledger has a group of this scope that the service confirmed. */
  readonly knowsGroups: boolean;
}

/** The owner's mark of a destination; null if there is none; "unreadable" if this user may not read marks. */
export type FoundMark = OwnersMark | null | "unreadable";

/**
 * - `keep`: the mark is ours.
 * - `claim`: write our mark before the first request.
 * - `adopt`: write our mark after the service's first answer has shown the right team, and before any token.
 * - `unmarked`: write tokens without a mark, with a warning.
 * - `refuse`: write nothing there, and send no request.
 */
export type Ownership = "keep" | "claim" | "adopt" | "unmarked" | "refuse";

/**
 * Whether tokens may be written to a destination.
 *
 * | mark                                          | this ledger  | tokens there | ownership |
 * |-----------------------------------------------|--------------|--------------|-----------|
 * | none                                          | knows groups | any          | claim     |
 * |                                               | empty        | none         | claim     |
 * |                                               | empty        | some         | adopt     |
 * | our name and ledger, our base_url             | any          | any          | keep      |
 * | our name and ledger, no team yet              | any          | any          | keep      |
 * | our name and base_url, another ledger         | empty        | any          | adopt     |
 * | unreadable                                    | knows groups | any          | unmarked  |
 * |                                               | empty        | none         | unmarked  |
 * |                                               | empty        | some         | refuse    |
 * | anything else                                 | any          | any          | refuse    |
 */
export function ownershipOf(mark: FoundMark, holdsTokens: boolean, self: Claimant): Ownership {
  const mayBeAnothers = holdsTokens && !self.knowsGroups;
  if (mark === "unreadable") return mayBeAnothers ? "refuse" : "unmarked";
  if (mark === null) return mayBeAnothers ? "adopt" : "claim";
  if (mark.name !== self.name || mark.ledgerId === null) return "refuse";
  const isSameService = mark.baseUrl === self.baseUrl;
  if (mark.ledgerId === self.ledgerId) return isSameService || mark.teamId === null ? "keep" : "refuse";
  return isSameService && !self.knowsGroups ? "adopt" : "refuse";
}

/** Whether `ownershipOf` depends on `holdsTokens`. If not, nobody has to look for tokens, which is slow in some stores. */
export const dependsOnTokens = (mark: FoundMark, self: Claimant): boolean =>
  ownershipOf(mark, true, self) !== ownershipOf(mark, false, self);

/** A table with tokens, as the database names it. */
export interface TokenTable {
  /** The table as written in the config: if that changes, tokens move to another destination. */
  readonly written: string;
  /** On MySQL, the database. */
  readonly schema: string;
  readonly table: string;
  /** Null if the table doesn't exist yet, and on MySQL, where tables have no owners. */
  readonly owner: string | null;
}

/** A table with tokens, as it is now. */
export interface FoundTokenTable extends TokenTable {
  /** The table's owner is this program's database user, or the owner that the config names. */
  readonly isOwnerNamed: boolean;
}

export const shownTable = ({ schema, table, owner }: TokenTable): string =>
  `${schema}.${table}${owner === null ? "" : ` owned by ${owner}`}`;

/** Whether the same name leads to another table than before. Compares only what a restore from a dump keeps. */
export const leadsElsewhere = (before: TokenTable, now: FoundTokenTable): boolean =>
  before.schema !== now.schema ||
  before.table !== now.table ||
  (before.owner !== null && now.owner !== null && before.owner !== now.owner && !now.isOwnerNamed);
