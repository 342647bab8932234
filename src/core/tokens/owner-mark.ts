import { isJsonObject, type Json } from "../text/json.ts";

/** Lies with the tokens of a destination and says which config and ledger they belong to. */
export interface OwnersMark {
  /** The `name` of the config. Null if the tokens belong to another config and its name is not known. */
  readonly name: string | null;
  /** Null, like the ledger's id, in a mark of an older groupsync, which wrote only the name. */
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
  const value = jsonIn(text);
  if (!isJsonObject(value)) return null;
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

function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
