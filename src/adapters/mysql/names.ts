import { namesOf } from "../sql/names.ts";

/** In characters. */
const MAX_LENGTH = 64;

const rules = {
  database: "MySQL",
  fits: (name: string) => [...name].length <= MAX_LENGTH,
  limit: `1 to ${MAX_LENGTH} characters`,
} as const;

/** For sessions with ANSI_QUOTES, which are ours alone. */
export const ansiNames = namesOf({ ...rules, quote: '"' });
/** For the customer's own SQL, and for people. */
export const names = namesOf({ ...rules, quote: "`" });
