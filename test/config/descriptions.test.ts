import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { describeSource, describeTokenDestinations } from "../../src/config/descriptions.ts";
import { parseDatabaseUrl } from "../../src/config/urls.ts";
import { rounds } from "../support/long.ts";
import { loadTokens } from "./load-tokens.ts";

type Source = Parameters<typeof describeSource>[0];

function aSource(url: string, keys: Omit<Source, "url"> = { table: "customers" }): Source {
  const parsed = parseDatabaseUrl(url);
  if (parsed === undefined) throw new Error(`${url} is no database url`);
  return { url: parsed, ...keys };
}

const ofUrl = (url: string): string => describeSource(aSource(url), "id");
const ofTable = (table: string): string => describeSource(aSource("postgres://db/app", { table }), "id");
const ofQuery = (query: string): string => describeSource(aSource("postgres://db/app", { query }), "id");

describe("the description of a source", () => {
  it.each([
    ["postgres://app:pw@db.example.com:6432/crm?sslmode=require", "db.example.com:6432/crm"],
    ["postgres://db/crm", "db:5432/crm"],
    ["mysql://db/crm", "db:3306/crm"],
    ["postgresql:///crm", "localhost:5432/crm"],
    ["postgres://[::1]/crm", "[::1]:5432/crm"],
    ["postgres://db", "db:5432/"],
    ["postgres://db/my%20crm", "db:5432/my crm"],
    ["postgres:///crm?host=/run/postgresql", "/run/postgresql:5432/crm"],
    ["postgres://db/crm?host=/run/postgresql&port=6432", "/run/postgresql:6432/crm"],
    ["mysql://db/crm?host=other&port=6432", "db:3306/crm"],
    ["postgres://%2Frun%2Fpostgresql/crm", "/run/postgresql:5432/crm"],
  ])("%s", (url, place) => {
    expect(ofUrl(url)).toBe(`${place} customers by id`);
  });

  it("is the same for every spelling of a host", () => {
    expect(ofUrl("postgresql://DB:5432/crm")).toBe(ofUrl("postgres://db/crm"));
    expect(ofUrl("postgres:///crm?host=/run/")).toBe(ofUrl("postgres:///crm?host=/run"));
  });

  it.each([
    ["public.customers", "public.customers"],
    ['"public"."customers"', "public.customers"],
    ['"Customers"', "Customers"],
    ['"a.b".c', '"a.b".c'],
    ['"My Schema"."say ""hi"""', '"My Schema"."say ""hi"""'],
  ])("has table %s without needless quotes", (table, shown) => {
    expect(ofTable(table)).toBe(`db:5432/app ${shown} by id`);
  });

  it("names a query by its text, however it is laid out", () => {
    expect(ofQuery("SELECT id FROM t")).toMatch(/^db:5432\/app query [0-9a-f]{12} by id$/);
    expect(ofQuery("\nSELECT id\n  FROM\tt  ")).toBe(ofQuery("SELECT id FROM t"));
    expect(ofQuery("SELECT id FROM u")).not.toBe(ofQuery("SELECT id FROM t"));
  });

  it("depends neither on user, password and parameters nor on which rows are selected", () => {
    const described = "db:5432/app customers by id";
    for (const url of ["postgres://db/app", "postgres://me:new%40@db/app?sslmode=require&options=x"])
      expect(ofUrl(url)).toBe(described);
    const some = { table: "customers", ...{ where: "plan = 'gold'" } };
    expect(describeSource(aSource("postgres://db/app", some), "id")).toBe(described);
  });

  it("never shows a part of a password, even if the password lacks escapes", () => {
    const anyPassword = fc
      .array(fc.constantFrom("hunter2", "/", "?", "#", "@", ":", "1", "%40", "&host="), { minLength: 1 })
      .map((parts) => parts.join(""))
      .filter((password) => password.includes("hunter2"));
    fc.assert(
      fc.property(anyPassword, (password) => {
        const url = parseDatabaseUrl(`postgres://app:${password}@db/app`);
        if (url !== undefined) expect(describeSource({ url, table: "t" }, "id")).not.toContain("hunter2");
      }),
      { numRuns: rounds(3_000) },
    );
  });
});

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
    [
      "an endpoint",
      { ...gcp, endpoint: "https://sm.example.com" },
      "gcp_secret_manager project crm-prod endpoint https://sm.example.com dashboards-{{ user_group_id }} as token",
    ],
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
