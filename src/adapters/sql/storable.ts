/**
 * What came from outside may hold what a database has no way to take: half of a surrogate pair, which isn't UTF-8, and
 * on PostgreSQL a NUL. The same ledger on both, so neither is kept on either.
 */
export function storable(text: string): string;
export function storable(text: string | null): string | null;
export function storable(text: string | null): string | null {
  return text === null ? null : Buffer.from(text.replaceAll("\0", "\ufffd")).toString();
}
