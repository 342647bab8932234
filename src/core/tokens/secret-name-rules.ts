import type { SecretNaming } from "./secret-name.ts";

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
