import { createHash } from "node:crypto";

/** Which names a secret store takes. */
export interface SecretNaming {
  /** The patterns that the text before the id and the text after it have to match. */
  readonly around: { readonly before: RegExp; readonly after: RegExp };
  /** Characters of an id that are written as they are. */
  readonly plain: RegExp;
  /** Precedes each byte, in hexadecimal, of the other characters. It is not plain itself. */
  readonly escape: string;
  readonly hex: "upper" | "lower";
  /** The most characters of a whole name. */
  readonly longest: number;
}

/** The text before and after the id. */
export type SecretPath = readonly [before: string, after: string];

const PLACEHOLDER = /\{\{\s*user_group_id\s*\}\}/;

/** Splits a template at `{{ user_group_id }}`. Undefined unless the template has this placeholder once, and no other. */
export function parseSecretPath(template: string): SecretPath | undefined {
  const [before = "", after, more] = template.split(PLACEHOLDER);
  if (after === undefined || more !== undefined || /\{\{|\}\}/.test(before + after)) return undefined;
  return [before, after];
}

/** Whether the store takes every name that this path makes. */
export const fits = ([before, after]: SecretPath, { around, longest }: SecretNaming): boolean =>
  around.before.test(before) && around.after.test(after) && before.length + after.length + HASHED <= longest;

/**
 * The name of a group's secret. Different ids have different names. Characters that the store forbids, and its escape
 * character, are written as UTF-8 bytes in hexadecimal, each after the escape character. If the name gets too long, the
 * id is replaced by its SHA-256, after the escape character and an `x`.
 */
export function secretName(id: string, [before, after]: SecretPath, naming: SecretNaming): string {
  const name = before + encoded(id, naming) + after;
  if (name.length <= naming.longest) return name;
  const hash = createHash("sha256").update(id, "utf8").digest("hex");
  return `${before}${naming.escape}x${hash}${after}`;
}

/** The name of the secret with the owner's mark. No id has this name: `o` is neither a hexadecimal digit nor `x`. */
export const ownerName = ([before, after]: SecretPath, naming: SecretNaming): string =>
  `${before}${naming.escape}owner${after}`;

/** The characters that a path has to leave for the id: the escape, the `x` and 64 digits. */
export const HASHED = 66;

function encoded(id: string, naming: SecretNaming): string {
  const pieces = [...id].map((char) => {
    if (naming.plain.test(char)) return char;
    const digits = Buffer.from(char, "utf8").toString("hex");
    return (naming.hex === "upper" ? digits.toUpperCase() : digits).replace(/../g, `${naming.escape}$&`);
  });
  return pieces.join("");
}
