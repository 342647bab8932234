import type { SecretNaming } from "./secret-name.ts";

/** Which names each store takes, by its vendor's documentation. */
export const SECRET_NAMING = {
  /** A POSIX file name of 255 bytes; folders in the path are made. Dots are kept for groupsync's own files. */
  file: {
    around: { before: /^(?:[\w-]+\/)*[\w-]*$/, after: /^[\w.-]*$/ },
    plain: /[\w-]/,
    escape: "%",
    hex: "upper",
    longest: 255,
  },
  /** A path of KV version 2: a slash would make a folder of an id. */
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
  /** Letters, digits and `/_+=.@-`, 512 of them. A name that ends with a hyphen and six characters looks like an ARN's. */
  aws_secrets_manager: {
    around: { before: /^[\w/+.@-]*$/, after: /^[\w/+.@]*$/ },
    plain: /[\w.@]/,
    escape: "=",
    hex: "upper",
    longest: 512,
  },
  /** Letters, digits, `-` and `_`, 255 of them. */
  gcp_secret_manager: {
    around: { before: /^[A-Za-z0-9-]*$/, after: /^[A-Za-z0-9-]*$/ },
    plain: /[A-Za-z0-9-]/,
    escape: "_",
    hex: "upper",
    longest: 255,
  },
  /** Letters, digits and `-`, 127 of them, and `A` is the same as `a`. */
  azure_key_vault: {
    around: { before: /^[a-z0-9-]*$/, after: /^[a-z0-9-]*$/ },
    plain: /[a-z0-9]/,
    escape: "-",
    hex: "lower",
    longest: 127,
  },
  /** A DNS subdomain of 253 characters: small letters, digits, and between them hyphens and single dots. */
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
