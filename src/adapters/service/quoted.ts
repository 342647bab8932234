import type { Secret } from "../../core/secret/secret.ts";
import { printable } from "../../core/text/printable.ts";

const HIDDEN = "[…]";
/** In characters: any text may contain a shorter secret by chance. */
const TELLING = 8;
const LONGEST_QUOTE = 300;

/** The service's words without secrets: also without any word that could be a token or a key. */
export function quoted(
  text: string,
  { id, secrets }: { readonly id: string; readonly secrets: readonly Secret[] },
): string {
  const known = secrets.flatMap(writtenForms).reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  const shown = known
    .replace(/[^\s"'`,;:()]{6,}/g, (word) => (word !== id && mayBeSecret(word) ? HIDDEN : word))
    .replace(/\p{C}+/gu, " ");
  return printable(shown, LONGEST_QUOTE);
}

/** A long word, or a word with a digit or with a capital in the middle, as no language has. */
const mayBeSecret = (word: string): boolean => word.length >= 20 || /\d|[a-z][A-Z]/.test(word);

/** The secret itself, and the forms that a url, a header or a JSON string would carry it in. */
function writtenForms(secret: Secret): string[] {
  const value = secret.reveal();
  const bytes = Buffer.from(value);
  const base64 = bytes.toString("base64");
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    base64,
    base64.replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
  ];
}

/** Whether the origin of a url contains a secret. The url parser has put the host into small letters. */
export const hidesSecret = (origin: string, secrets: readonly Secret[]): boolean =>
  secrets.flatMap(writtenForms).some((form) => origin.includes(form.toLowerCase()));

/** A name without the secrets that it contains as they are. It is kept and compared, so everything else in it stays. */
export const nameWithout = (secrets: readonly string[], name: string): string =>
  secrets
    .filter((secret) => secret.length >= TELLING)
    .reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), name);
