/**
 * Replaces characters from outside that a database can't store: half of a surrogate pair, which isn't UTF-8, and NUL.
 * MySQL could store NUL, but both databases have to keep the same text.
 */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd");
