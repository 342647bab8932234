import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { mayMeet } from "../../src/config/clashing-stores.ts";
import { loadConfig } from "../../src/config/load.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import {
  parseSecretPath,
  SECRET_NAMING,
  type SecretPath,
  type SecretStoreKind,
  secretName,
} from "../../src/core/tokens/secrets.ts";

const HEAD = `
service: { base_url: https://dashboards.example.com, api_key: k3y }
source: { url: postgres://app:hunter2@localhost/crm, table: customers }
group: { id: id, name: company_name }
tokens:
`.trimStart();

/** The problems of these entries of the list. The first entry is on line 5. */
function problemsOf(...entries: readonly string[]): string[] {
  const text = HEAD + entries.map((entry) => `  - { ${entry} }\n`).join("");
  try {
    loadConfig("config.yaml", { env: {}, readFile: () => text });
    return [];
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    return error.message.split("\n").slice(1);
  }
}

const ID = "{{ user_group_id }}";
const vault = "store: vault, address: https://v, auth: { token: t }";
const kubernetes = "store: kubernetes";

describe("two token stores", () => {
  it.each<[string, string, string, string]>([
    ["one table", "verify: 1h", "table: groupsync_tokens", "writes into the table of"],
    [
      "a table by two urls and spellings",
      "table: app.t",
      `url: "postgresql://me:hunter2@LOCALHOST:5432/crm?sslmode=require", table: '"app"."t"'`,
      "writes into the table of",
    ],
    [
      "one column",
      "rows: existing, table: t, id_column: id, token_column: token",
      "rows: existing, table: t, id_column: other, token_column: token",
      "writes into the table of",
    ],
    [
      "rows of which only one is the owner",
      "table: t, token_column: a",
      "rows: existing, table: t, id_column: user_group_id, token_column: b",
      "writes into the table of",
    ],
    [
      "one directory",
      "store: file, directory: /x",
      `store: file, directory: /x/y/.., path: "a/${ID}", format: json`,
      "shares a directory with",
    ],
    [
      "a directory in the other",
      "store: file, directory: /x/y",
      "store: file, directory: /x",
      "shares a directory with",
    ],
    ["one path in Vault", vault, `${vault}, format: json, mount: /secret/`, "writes the secrets of"],
    [
      "a path in Vault that begins like the other",
      vault,
      `${vault}, path: "dashboards/json-${ID}"`,
      "can name a secret of",
    ],
    [
      "one region",
      "store: aws_secrets_manager, region: eu-central-1",
      "store: aws_secrets_manager, region: eu-central-1, format: json",
      "writes the secrets of",
    ],
    [
      "one project",
      "store: gcp_secret_manager, project: crm-prod",
      "store: gcp_secret_manager, project: crm-prod",
      "writes the secrets of",
    ],
    [
      "one vault in Azure",
      "store: azure_key_vault, vault_url: https://v",
      "store: azure_key_vault, vault_url: https://V/",
      "writes the secrets of",
    ],
    ["one key", kubernetes, `${kubernetes}, format: json`, "writes the secrets of"],
    [
      "Secrets of different tenants",
      kubernetes,
      `${kubernetes}, key: other, path: "dashboards-x-${ID}"`,
      "can name a secret of",
    ],
  ])("cannot share %s", (_, one, other, message) => {
    const problems = problemsOf(one, "store: file, directory: /apart", other);
    expect(problems).toEqual([expect.stringMatching(`^  line 7  tokens\\.2: ${message} tokens\\.0[;,]`)]);
    expect(problems.join()).not.toContain("hunter2");
  });

  it.each<[string, string, string, string]>([
    ["one directory", "real", "link", "real"],
    ["one directory, by links on both sides", "link", "other-link", "real"],
    ["a directory in the other", "real", "link/in/it", "real/in/it"],
    ["a directory around the other", "link/in/it", "real", "real/in/it"],
  ])(
    "cannot share %s through a symbolic link, even if the directory doesn't exist",
    (_, one, other, shared) => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "groupsync-")));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      mkdirSync(join(folder, "real"));
      for (const link of ["link", "other-link"]) symlinkSync("real", join(folder, link));
      const store = (name: string): string => `store: file, directory: ${join(folder, name)}`;
      expect(problemsOf(store(one), store(other), store("apart"))).toEqual([
        `  line 6  tokens.1: shares the directory ${join(folder, shared)} with tokens.0 through a symbolic link; keep one of the two, or give each a directory of its own`,
      ]);
    },
  );

  it.each<[string, string, string]>([
    ["tables", "table: a", "table: b"],
    ["databases", "table: t", "url: mysql://localhost/crm, table: t"],
    [
      "columns of somebody else's table",
      "rows: existing, table: t, id_column: id, token_column: a",
      "rows: existing, table: t, id_column: id, token_column: b",
    ],
    ["directories", "store: file, directory: /x", "store: file, directory: /xy"],
    ["folders", vault, `${vault}, path: "dashboards-json/${ID}", format: json`],
    ["mounts", vault, `${vault}, mount: other`],
    ["regions", "store: aws_secrets_manager, region: eu-a-1", "store: aws_secrets_manager, region: eu-b-1"],
    ["keys of one Secret", kubernetes, `${kubernetes}, key: json, format: json`],
    ["kinds", vault, "store: file, directory: /x"],
  ])("may have %s of their own", (_, one, other) => {
    expect(problemsOf(one, other)).toEqual([]);
  });

  it("are compared even if a third store is wrong", () => {
    expect(problemsOf("table: t", "store: nowhere", "table: t")).toEqual([
      expect.stringContaining("line 6  tokens.1.store: is not possible here"),
      expect.stringContaining("line 7  tokens.2: writes into the table of tokens.0;"),
    ]);
  });

  it("have their own lines in the report", () => {
    expect(problemsOf("store: file, directory: /x", "table: customers")).toEqual([
      expect.stringContaining("line 6  tokens.1.table: is the table of the tenants"),
    ]);
  });
});

test.each(Object.keys(SECRET_NAMING) as SecretStoreKind[])(
  "%s: paths that are told apart have no name in common, whatever the ids",
  (kind) => {
    const naming = SECRET_NAMING[kind];
    const affixes = ["", "a", "-", "a-", "-a", "/", ".", "2f", "2F", naming.escape, `${naming.escape}2`];
    const chars = ["a", "-", "/", "2", "f"];
    const pairs = chars.flatMap((one) => chars.map((other) => one + other));
    const ids = [...chars, ...pairs, ...pairs.flatMap((pair) => chars.map((char) => pair + char))];
    const pathsOf = new Map<string, SecretPath[]>();
    for (const path of affixes.flatMap((before) => affixes.map((after): SecretPath => [before, after]))) {
      for (const name of ids.map((id) => secretName(id, path, naming)))
        pathsOf.set(name, [...(pathsOf.get(name) ?? []), path]);
    }
    const wrong = [...pathsOf.values()].flatMap((paths) =>
      paths.flatMap((one) =>
        paths.filter((other) => !mayMeet(one, other, naming)).map((other) => [one, other]),
      ),
    );
    expect(pathsOf.size).toBeLessThan(affixes.length ** 2 * ids.length);
    expect(wrong).toEqual([]);
  },
);

test.each<[SecretStoreKind, string, string, boolean]>([
  ["vault", ID, `x-${ID}`, true],
  ["vault", ID, `${ID}-x`, true],
  ["vault", ID, `x/${ID}`, false],
  ["vault", ID, `${ID}.json`, false],
  ["vault", `a${ID}`, `b${ID}`, false],
  ["vault", `${ID}a`, `${ID}b`, false],
  ["aws_secrets_manager", ID, `${ID}.json`, true],
  ["kubernetes", `a-${ID}`, `a-${ID}`, true],
])("%s: %s and %s may meet: %s", (kind, one, other, expected) => {
  const [a, b] = [parseSecretPath(one), parseSecretPath(other)];
  if (!a || !b) throw new Error("no path");
  expect(mayMeet(a, b, SECRET_NAMING[kind])).toBe(expected);
  expect(mayMeet(b, a, SECRET_NAMING[kind])).toBe(expected);
});
