import { identifiersOf } from "../../sql/connection/identifiers.ts";

/** PostgreSQL cuts longer names without an error. */
const MAX_BYTES = 63;

const fits = (name: string): boolean => Buffer.byteLength(name) <= MAX_BYTES;

/** Whether the server can have a name like this. */
export const isName = (text: string): boolean => text !== "" && fits(text);

export const { quoteName, quoteTable } = identifiersOf({
  database: "PostgreSQL",
  quote: '"',
  fits,
  limit: `1 to ${MAX_BYTES} bytes`,
});
