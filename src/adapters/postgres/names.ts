import { namesOf } from "../sql/names.ts";

/** PostgreSQL cuts longer names without an error. */
const MAX_BYTES = 63;

export const { quoteName, quoteTable } = namesOf({
  database: "PostgreSQL",
  quote: '"',
  fits: (name) => Buffer.byteLength(name) <= MAX_BYTES,
  limit: `1 to ${MAX_BYTES} bytes`,
});
