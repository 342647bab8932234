import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { describeTokenDestinations } from "../../src/config/descriptions.ts";
import { rounds } from "../support/long.ts";
import { loadTokens } from "./load-tokens.ts";

type Keys = Readonly<Record<string, unknown>>;

const destinationsOf = (tokens: Keys | readonly Keys[]): readonly string[] =>
  describeTokenDestinations(loadTokens(tokens));

const table = { url: "postgres://localhost/crm" };
const file = { store: "file", directory: "/var/lib/groupsync/tokens" };
const vault = { store: "vault", address: "https://vault.internal:8200", auth: { token: "hvs.x" } };
const aws = { store: "aws_secrets_manager" };
const gcp = { store: "gcp_secret_manager", project: "crm-prod" };
const azure = { store: "azure_key_vault", vault_url: "https://crm.vault.azure.net" };
const kubernetes = { store: "kubernetes" };

describe("the destinations of tokens", () => {
  it.each<[string, Keys, string]>([
    ["a table", table, "table localhost:5432/crm groupsync_tokens column token by user_group_id in own rows"],
    [
      "a table of somebody else's",
      {
        url: "mysql://localhost/crm",
        rows: "existing",
        table: "customers",
        id_column: "id",
        token_column: "a token",
      },
      'table localhost:3306/crm customers column "a token" by id in existing rows',
    ],
    ["files", file, "file /var/lib/groupsync/tokens/{{ user_group_id }} as token"],
    [
      "Vault",
      { ...vault, format: "json" },
      "vault https://vault.internal:8200 mount secret dashboards/{{ user_group_id }} as json",
    ],
    [
      "Vault's namespace",
      { ...vault, namespace: "teams/data" },
      "vault https://vault.internal:8200 namespace teams/data mount secret dashboards/{{ user_group_id }} as token",
    ],
    ["AWS", aws, "aws_secrets_manager dashboards/{{ user_group_id }} as token"],
    [
      "a region",
      { ...aws, region: "eu-central-1", endpoint: "https://vpce.example.com" },
      "aws_secrets_manager region eu-central-1 endpoint https://vpce.example.com dashboards/{{ user_group_id }} as token",
    ],
    ["GCP", gcp, "gcp_secret_manager project crm-prod dashboards-{{ user_group_id }} as token"],
    ["Azure", azure, "azure_key_vault https://crm.vault.azure.net dashboards-{{ user_group_id }} as token"],
    ["Kubernetes", kubernetes, "kubernetes dashboards-{{ user_group_id }} key token as token"],
    [
      "a cluster",
      { ...kubernetes, kubeconfig: "/etc/my kube", context: "prod", namespace: "crm" },
      'kubernetes kubeconfig "/etc/my kube" context prod namespace crm dashboards-{{ user_group_id }} key token as token',
    ],
  ])("%s", (_, tokens, destination) => {
    expect(destinationsOf(tokens)).toEqual([destination]);
  });

  it("are several, in whatever order the config has them", () => {
    const destinations = destinationsOf([vault, table, file]);
    expect(destinations).toEqual([
      ...destinationsOf(file),
      ...destinationsOf(table),
      ...destinationsOf(vault),
    ]);
    expect(destinationsOf([file, vault, table])).toEqual(destinations);
  });
});

test.each<[string, Keys, Keys]>([
  ["a default", {}, { ...table, store: "table", table: "groupsync_tokens", rows: "own" }],
  [
    "a host",
    { url: "postgres://localhost/crm" },
    { url: "postgresql://app:pw@LOCALHOST:5432/crm?sslmode=require" },
  ],
  ["quotes", { table: "app.tokens" }, { table: '"app"."tokens"' }],
  ["a directory", file, { ...file, directory: "/var/lib/./groupsync/x/../tokens//" }],
  ["a relative directory", { ...file, directory: resolve("tokens") }, { ...file, directory: "tokens" }],
  [
    "a folder",
    { ...file, directory: "/var/lib", path: "tokens/{{ user_group_id }}" },
    { ...file, directory: "/var/lib/tokens" },
  ],
  ["a placeholder", vault, { ...vault, path: "dashboards/{{user_group_id}}" }],
  ["an address", vault, { ...vault, address: "https://VAULT.internal:8200/" }],
  ["a default port", { ...vault, address: "https://v" }, { ...vault, address: "https://v:443/" }],
  ["a mount", vault, { ...vault, mount: "/secret/" }],
  ["a namespace", { ...vault, namespace: "a/b" }, { ...vault, namespace: "/a/b/" }],
  ["a vault", azure, { ...azure, vault_url: "https://CRM.vault.azure.net:443/" }],
  ["a kubeconfig", { ...kubernetes, kubeconfig: "/etc/kube" }, { ...kubernetes, kubeconfig: "/etc//./kube" }],
])("%s has one text for all its spellings", (_, one, other) => {
  expect(destinationsOf(other)).toEqual(destinationsOf(one));
});

test.each<[Keys, Keys]>([
  [table, { url: "postgres://localhost/other", table: "other", id_column: "other", token_column: "other" }],
  [
    { rows: "existing", table: "t", id_column: "i", token_column: "o" },
    { url: "mysql://localhost/crm", rows: "own" },
  ],
  [file, { directory: "/other", path: "other-{{ user_group_id }}", format: "json" }],
  [
    vault,
    {
      address: "https://vault.internal:8200/other",
      mount: "other",
      namespace: "other",
      path: "{{ user_group_id }}",
      format: "json",
    },
  ],
  // Not the same as a folder in the path: each engine has its own.
  [{ ...vault, mount: "secret/a", path: "{{ user_group_id }}" }, { mount: "secret" }],
  [aws, { region: "other", endpoint: "https://other", path: "{{ user_group_id }}", format: "json" }],
  [gcp, { project: "other-project", endpoint: "https://other", path: "{{ user_group_id }}", format: "json" }],
  [azure, { vault_url: "https://other.vault.azure.net", path: "{{ user_group_id }}-x", format: "json" }],
  [
    kubernetes,
    {
      namespace: "other",
      context: "other",
      kubeconfig: "/other",
      key: "other",
      path: "x-{{ user_group_id }}",
      format: "json",
    },
  ],
])("%j has another text with any other of its keys %j", (tokens, others) => {
  const changed = Object.entries(others);
  const texts = [tokens, ...changed.map(([key, value]) => ({ ...tokens, [key]: value }))].flatMap(
    destinationsOf,
  );
  expect(new Set(texts).size).toBe(changed.length + 1);
});

test("no two values of a key are read as another's", () => {
  const anyText = fc.stringMatching(/^[ "a-]{1,4}$/).filter((text) => text.trim() === text);
  const anyCluster = fc.record({ kubeconfig: anyText, context: anyText }, { requiredKeys: [] });
  fc.assert(
    fc.property(anyCluster, anyCluster, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      const [a] = destinationsOf({ ...kubernetes, ...one });
      const [b] = destinationsOf({ ...kubernetes, ...other });
      expect(a === b).toBe(isSame);
    }),
    { numRuns: rounds(300) },
  );
});

test("credentials, verify and notify neither change the text nor are in it", () => {
  const anyWord = fc.stringMatching(/^[a-z0-9]{1,12}$/).map((text) => `hunter2${text}`);
  fc.assert(
    fc.property(anyWord, anyWord, fc.integer({ min: 1, max: 90 }), (user, secret, days) => {
      const url = `postgres://${user}:${secret}@localhost/crm?sslmode=require&application_name=${user}`;
      const more = { verify: `${days}d` };
      expect(destinationsOf({ ...table, url, notify: user, ...more })).toEqual(destinationsOf(table));
      for (const auth of [
        { token: secret },
        { method: "approle", mount: user, role_id: user, secret_id: secret },
        { method: "kubernetes", mount: user, role: user, token_file: `/${secret}` },
      ]) {
        expect(destinationsOf({ ...vault, auth, ...more })).toEqual(destinationsOf(vault));
      }
    }),
    { numRuns: rounds(300) },
  );
});
