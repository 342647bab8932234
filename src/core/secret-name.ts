import { createHash } from "node:crypto";

/** Which names a secret store takes. */
export interface SecretNaming {
  /** The text around the id: `before` begins a name where the id doesn't. */
  readonly around: { readonly before: RegExp; readonly after: RegExp };
  /** An id's characters that stay as they are. */
  readonly plain: RegExp;
  /** Stands before each byte, in hexadecimal, of those that don't. It is never plain itself. */
  readonly escape: string;
  readonly hex: "upper" | "lower";
  /** Most characters of a whole name. */
  readonly longest: number;
}

/** The text before and after the id. */
export type SecretPath = readonly [before: string, after: string];

const PLACEHOLDER = /\{\{\s*user_group_id\s*\}\}/;

/** Undefined where the template doesn't name the id just once, or names anything else. */
export function parseSecretPath(template: string): SecretPath | undefined {
  const [before = "", after, more] = template.split(PLACEHOLDER);
  if (after === undefined || more !== undefined || /\{\{|\}\}/.test(before + after)) return undefined;
  return [before, after];
}

/** Whether each name that this path makes is one that the store takes. */
export const fits = ([before, after]: SecretPath, { around, longest }: SecretNaming): boolean =>
  around.before.test(before) && around.after.test(after) && before.length + after.length + HASHED <= longest;

/**
 * The name of a group's secret. Different ids have different names: what the store forbids in an id is written as its
 * UTF-8 bytes in hexadecimal, each behind the store's escape character, and so is that itself. An id that is too long
 * for that is its SHA-256, behind the escape and an `x`.
 */
export function secretName(id: string, [before, after]: SecretPath, naming: SecretNaming): string {
  const name = before + encoded(id, naming) + after;
  if (name.length <= naming.longest) return name;
  const hash = createHash("sha256").update(id, "utf8").digest("hex");
  return `${before}${naming.escape}x${hash}${after}`;
}

/** The name of the secret that says whose the secrets of this path are: no id has it, for `o` is no digit and no `x`. */
export const ownerName = ([before, after]: SecretPath, naming: SecretNaming): string =>
  `${before}${naming.escape}owner${after}`;

/** How many characters a path has to leave for the id: the escape, the x and 64 digits. */
export const HASHED = 66;

function encoded(id: string, naming: SecretNaming): string {
  const pieces = [...id].map((char) => {
    if (naming.plain.test(char)) return char;
    const digits = Buffer.from(char, "utf8").toString("hex");
    return (naming.hex === "upper" ? digits.toUpperCase() : digits).replace(/../g, `${naming.escape}$&`);
  });
  return pieces.join("");
}
