/** PostgreSQL's text has no NUL and no half of a surrogate pair; what came from outside may have both. */
export function storable(text: string): string;
export function storable(text: string | null): string | null;
export function storable(text: string | null): string | null {
  return text === null ? null : Buffer.from(text.replaceAll("\0", "\ufffd")).toString();
}
