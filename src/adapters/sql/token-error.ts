import { describe } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";

/** What drivers say of an error beside its message, without a word of the data. */
const NUMBERS = ["code", "errno", "sqlState"];

/** As much of a token as nobody may see, in characters. */
const TELLING = 8;

/**
 * The error of a statement on rows that have tokens, as far as it can be shown: a database may quote what it refuses,
 * in the message or in any of the fields beside it, and a constraint or a trigger may have changed it before.
 */
export function withoutTokens(error: unknown, tokens: readonly Secret[]): unknown {
  if (!(error instanceof Error)) return error;
  const message = describe(error);
  const tells = tokens.some((token) => quotes(message.toLowerCase(), token.reveal().toLowerCase()));
  return Object.assign(
    new Error(tells ? "the reason quotes the token, and is left out" : message),
    Object.fromEntries(Object.entries(error).filter(([name]) => NUMBERS.includes(name))),
  );
}

/** Whether the text holds the token or a telling part of it. */
function quotes(text: string, token: string): boolean {
  const size = Math.min(TELLING, token.length);
  for (let start = 0; start + size <= token.length; start++) {
    if (text.includes(token.slice(start, start + size))) return true;
  }
  return false;
}
