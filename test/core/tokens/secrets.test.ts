import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";
import {
  fits,
  formatToken,
  parseSecretPath,
  SECRET_NAMING,
  type SecretPath,
  type SecretStoreKind,
  secretName,
  type TokenFormat,
  tokenIn,
} from "../../../src/core/tokens/secrets.ts";

const KINDS = Object.keys(SECRET_NAMING) as SecretStoreKind[];

/** What the vendors' documentation says of a whole name. */
const TAKEN: Record<SecretStoreKind, RegExp> = {
  file: /^(?!\.)[^/\0]{1,255}$/,
  vault: /^[^/\s\p{Cc}]+$/u,
  aws_secrets_manager: /^[A-Za-z0-9/_+=.@-]{1,512}$/,
  gcp_secret_manager: /^[A-Za-z0-9_-]{1,255}$/,
  azure_key_vault: /^[A-Za-z0-9-]{1,127}$/,
  kubernetes: /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
};

const PATH: SecretPath = ["t-", ""];
const ids = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 200 }),
  fc.constantFrom("a", "A", "a-b", "a_b", "a.b", "..", "-", "_", "%41", "=41", "-41", "_41", "A".repeat(300)),
);

describe.each(KINDS)("the name of a secret in %s", (kind) => {
  const naming = SECRET_NAMING[kind];

  test("is one that the store takes, whatever the id", () => {
    fc.assert(
      fc.property(ids, (id) => {
        expect(secretName(id, PATH, naming)).toMatch(TAKEN[kind]);
      }),
    );
  });

  test("is another one for another id", () => {
    const compared = (name: string): string => (kind === "azure_key_vault" ? name.toLowerCase() : name);
    fc.assert(
      fc.property(ids, ids, (one, other) => {
        fc.pre(one !== other);
        expect(compared(secretName(one, PATH, naming))).not.toBe(compared(secretName(other, PATH, naming)));
      }),
    );
  });

  test("has an escape that no id can have as it is", () => {
    expect(naming.escape).not.toMatch(naming.plain);
  });

  test("keeps small letters and digits as they are", () => {
    expect(secretName("acme42", ["dash-", "-x"], naming)).toBe("dash-acme42-x");
  });
});

test.each<[SecretStoreKind, string, string]>([
  ["file", "a/b %", "t-a%2Fb%20%25"],
  ["vault", "a/b=", "t-a=2Fb=3D"],
  ["aws_secrets_manager", "cus_1/ä", "t-cus_1=2F=C3=A4"],
  ["gcp_secret_manager", "cus_1.x", "t-cus_5F1_2Ex"],
  ["azure_key_vault", "Cus-1", "t--43us-2d1"],
  ["kubernetes", "Cus-1.x", "t--43us-2d1-2ex"],
])("in %s %j is named %s", (kind, id, name) => {
  expect(secretName(id, PATH, SECRET_NAMING[kind])).toBe(name);
});

test("an id that is too long is named by its SHA-256, which no other id can be written as", () => {
  const name = secretName("ä".repeat(100), PATH, SECRET_NAMING.azure_key_vault);
  expect(name).toMatch(/^t--x[0-9a-f]{64}$/);
  expect(secretName(`x${name.slice(4)}`, PATH, SECRET_NAMING.azure_key_vault)).not.toBe(name);
});

test.each<[string, SecretPath | undefined]>([
  ["{{ user_group_id }}", ["", ""]],
  ["dashboards/{{user_group_id}}/token", ["dashboards/", "/token"]],
  ["dashboards", undefined],
  ["{{ id }}", undefined],
  ["{{ user_group_id }}{{ user_group_id }}", undefined],
  ["{{ user_group_id }}-{{ name }}", undefined],
])("the path %j is read as %j", (template, path) => {
  expect(parseSecretPath(template)).toEqual(path);
});

test.each<[SecretStoreKind, SecretPath, boolean]>([
  ["file", ["dashboards/", ".token"], true],
  ["file", ["../../", ""], false],
  ["file", ["/etc/", ""], false],
  ["vault", ["dashboards/", ""], true],
  ["vault", ["a b/", ""], false],
  ["vault", ["../sys/", ""], false],
  ["vault", ["a/", "/.."], false],
  ["vault", ["a..b/", "/x"], true],
  ["gcp_secret_manager", ["dashboards/", ""], false],
  ["gcp_secret_manager", ["dashboards-", ""], true],
  ["azure_key_vault", ["Dashboards-", ""], false],
  ["azure_key_vault", ["d".repeat(62), ""], false],
  ["kubernetes", ["groupsync-", ""], true],
  ["kubernetes", ["", ""], false],
  ["kubernetes", ["groupsync.", ""], false],
  ["kubernetes", ["a.b-", "-token"], true],
])("%s takes a path with %j around the id: %s", (kind, path, expected) => {
  expect(fits(path, SECRET_NAMING[kind])).toBe(expected);
});

const NOW = new Date("2026-03-01T12:00:00Z");
const text = fc.string({ unit: "binary", minLength: 1 });

test.each<TokenFormat>(["token", "json"])("in the format %s, what was put in comes out", (format) => {
  fc.assert(
    fc.property(text, text, (id, token) => {
      const content = formatToken(format, id, new Secret(token), NOW);
      expect(tokenIn(format, id, content)?.reveal()).toBe(token);
    }),
  );
});

test("a bare token is the content as it is", () => {
  expect(formatToken("token", "a", new Secret(" t\n"), NOW).reveal()).toBe(" t\n");
});

test("in JSON the token has its group's id and the time beside it", () => {
  expect(formatToken("json", "a", new Secret("t"), NOW).reveal()).toBe(
    '{"user_group_id":"a","token":"t","rotated_at":"2026-03-01T12:00:00.000Z"}',
  );
});

test("another group's token is none in JSON, whatever its secret is called", () => {
  expect(tokenIn("json", "b", formatToken("json", "a", new Secret("t"), NOW))).toBeUndefined();
});

test.each<[TokenFormat, string]>([
  ["token", ""],
  ["json", ""],
  ["json", "t"],
  ["json", "null"],
  ["json", "[]"],
  ["json", '{"user_group_id":"a"}'],
  ["json", '{"user_group_id":"a","token":""}'],
  ["json", '{"user_group_id":"a","token":1}'],
])("in the format %s there is no token in %j", (format, content) => {
  expect(tokenIn(format, "a", new Secret(content))).toBeUndefined();
});

test("what somebody has added to the JSON is no matter", () => {
  expect(tokenIn("json", "a", new Secret('{ "token": "t", "user_group_id": "a", "x": 1 }'))?.reveal()).toBe(
    "t",
  );
});
