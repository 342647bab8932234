import { identifiersOf } from "../../sql/connection/identifiers.ts";

/** PostgreSQL cuts longer names without an error. */
const MAX_BYTES = 63;

const fits = (name: string): boolean => Buffer.byteLength(name) <= MAX_BYTES;

export const { quoteName, quoteTable } = identifiersOf({
  database: "PostgreSQL",
  quote: '"',
  fits,
  limit: `1 to ${MAX_BYTES} bytes`,
});
