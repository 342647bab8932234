import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";

/** Fields of the drivers' errors that contain no data. */
const NUMBERS = ["code", "errno", "sqlState"];

/** In characters: this much of a token already tells too much. */
const TELLING = 8;

/**
 * The parts of a statement's error that can be shown without showing a token. A database may quote the value that it
 * refuses, in the message or in another field, and a constraint or a trigger may have changed the value before. A SyncError
 * shows no token, and stays as it is.
 */
export function withoutTokens(error: unknown, tokens: readonly Secret[]): unknown {
  if (!(error instanceof Error) || error instanceof SyncError) return error;
  const message = describe(error);
  const tells = tokens.some((token) => quotes(message.toLowerCase(), token.reveal().toLowerCase()));
  return Object.assign(
    new Error(tells ? "the reason quotes the token, and is left out" : message),
    Object.fromEntries(Object.entries(error).filter(([name]) => NUMBERS.includes(name))),
  );
}

/** Whether the text contains the token, or a part of it that tells too much. */
function quotes(text: string, token: string): boolean {
  const size = Math.min(TELLING, token.length);
  for (let start = 0; start + size <= token.length; start++) {
    if (text.includes(token.slice(start, start + size))) return true;
  }
  return false;
}
