import { createHash } from "node:crypto";
import { Secret } from "../secret/secret.ts";
import { jsonObjectIn } from "../text/json.ts";

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

/** Which names each store takes, from the vendor's documentation. */
export const SECRET_NAMING = {
  /**
   * POSIX file names of 255 bytes. Folders in the path are created. Dots before the id are forbidden, and dots in the id are
   * escaped, because groupsync's own folder begins with a dot.
   */
  file: {
    around: { before: /^(?:[\w-]+\/)*[\w-]*$/, after: /^[\w.-]*$/ },
    plain: /[\w-]/,
    escape: "%",
    hex: "upper",
    longest: 255,
  },
  /**
   * Paths of KV version 2: letters, digits, `_.-` and the escape `=`, with slashes between folders. Slashes and dots in an id
   * are escaped: a slash would make a folder.
   */
  vault: {
    around: {
      before: /^(?:(?!\.{1,2}\/)[\w.-]+\/)*[\w.-]*$/,
      after: /^[\w.-]*(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)*$/,
    },
    plain: /[\w-]/,
    escape: "=",
    hex: "upper",
    longest: 512,
  },
  /** 512 letters, digits and `/_+=.@-`. A name that ends with a hyphen and six characters could be taken for an ARN. */
  aws_secrets_manager: {
    around: { before: /^[\w/+.@-]*$/, after: /^[\w/+.@]*$/ },
    plain: /[\w.@]/,
    escape: "=",
    hex: "upper",
    longest: 512,
  },
  /** 255 letters, digits, `-` and `_`. */
  gcp_secret_manager: {
    around: { before: /^[A-Za-z0-9-]*$/, after: /^[A-Za-z0-9-]*$/ },
    plain: /[A-Za-z0-9-]/,
    escape: "_",
    hex: "upper",
    longest: 255,
  },
  /** 127 letters, digits and `-`. Case doesn't matter. */
  azure_key_vault: {
    around: { before: /^[a-z0-9-]*$/, after: /^[a-z0-9-]*$/ },
    plain: /[a-z0-9]/,
    escape: "-",
    hex: "lower",
    longest: 127,
  },
  /** A DNS subdomain of 253 characters: lower-case letters and digits, with hyphens and single dots between them. */
  kubernetes: {
    around: {
      before: /^(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)*[a-z0-9]+(?:-+[a-z0-9]+)*-*$/,
      after: /^(?:[.-]?[a-z0-9]+)*$/,
    },
    plain: /[a-z0-9]/,
    escape: "-",
    hex: "lower",
    longest: 253,
  },
} as const satisfies Record<string, SecretNaming>;

export type SecretStoreKind = keyof typeof SECRET_NAMING;

/** The content of a secret: the bare token, or JSON with `user_group_id`, `token` and `rotated_at`. */
export type TokenFormat = "token" | "json";

/** The content of a secret. `now` becomes `rotated_at`: the time of writing, which for a new token is that of its rotation. */
export function formatToken(format: TokenFormat, id: string, token: Secret, now: Date): Secret {
  if (format === "token") return token;
  return new Secret(
    JSON.stringify({ user_group_id: id, token: token.reveal(), rotated_at: now.toISOString() }),
  );
}

/** The token in a content that `formatToken` made; undefined if there is none, or if it is another group's. */
export function tokenIn(format: TokenFormat, id: string, content: Secret): Secret | undefined {
  if (format === "token") return content.reveal() === "" ? undefined : content;
  const value = jsonObjectIn(content.reveal());
  if (value?.user_group_id !== id) return undefined;
  return typeof value.token === "string" && value.token !== "" ? new Secret(value.token) : undefined;
}
