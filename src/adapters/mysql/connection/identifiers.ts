import { identifiersOf } from "../../sql/connection/identifiers.ts";

/** In characters. */
const MAX_LENGTH = 64;

const rules = {
  database: "MySQL",
  fits: (name: string) => [...name].length <= MAX_LENGTH,
  limit: `1 to ${MAX_LENGTH} characters`,
} as const;

/** For groupsync's own sessions, which have ANSI_QUOTES. */
export const ansiIdentifiers = identifiersOf({ ...rules, quote: '"' });
/** For sessions in which the customer's SQL runs, and for messages. */
export const identifiers = identifiersOf({ ...rules, quote: "`" });
