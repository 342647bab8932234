import { identifiersOf } from "../../sql/connection/identifiers.ts";

/** In characters. */
const MAX_LENGTH = 64;

/** In backticks, which mean the same in every sql_mode. */
export const identifiers = identifiersOf({
  database: "MySQL",
  quote: "`",
  fits: (name) => [...name].length <= MAX_LENGTH,
  limit: `1 to ${MAX_LENGTH} characters`,
});
