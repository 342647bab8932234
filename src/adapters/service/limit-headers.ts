import type { LimitHeader } from "../../core/probe/findings.ts";
import type { Secret } from "../../core/secret/secret.ts";
import { printable } from "../../core/text/printable.ts";
import { hidesSecret } from "./quoted.ts";

/** `RateLimit`, `RateLimit-Policy`, `X-RateLimit-Remaining`, `X-Rate-Limit-Reset`, `Retry-After` and the like. */
const TELLS_OF_LIMIT = /^(x-)?(rate-?limit|quota)|^retry-after$/;
const LONGEST_VALUE = 100;
/** Longer than any number or date in such a header. */
const LONGEST_WORD = 24;

/** The headers that tell of a limit, in the order in which they came. A value that may hold a secret is hidden. */
export const limitHeaders = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
  secrets: readonly Secret[],
): readonly LimitHeader[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    value !== undefined && TELLS_OF_LIMIT.test(name.toLowerCase())
      ? [{ name: name.toLowerCase(), value: shown(String(value), secrets) }]
      : [],
  );

function shown(value: string, secrets: readonly Secret[]): string {
  const hasLongWord = value.split(/[^\w-]+/).some((word) => word.length > LONGEST_WORD);
  return hasLongWord || hidesSecret(value.toLowerCase(), secrets)
    ? "[hidden]"
    : printable(value, LONGEST_VALUE);
}
