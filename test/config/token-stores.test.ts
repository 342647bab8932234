// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import { loadTokens } from "./load-tokens.ts";

type Keys = Readonly<Record<string, unknown>>;
type Entries = readonly (Keys | string | null)[];

const env = { VAULT_TOKEN: "hvs.hunter2", SECRET_ID: "hunter2-hunter2" };
const load = (tokens: Keys | Entries): Config["tokens"] => loadTokens(tokens, env);

/** The problems of the report, without their lines. */
function problemsOf(tokens: Keys | Entries): string[] {
  try {
    load(tokens);
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    return error.message
      .split("\n")
      .slice(1)
      .map((line) => line.replace(/^ *line \d+ {2}/, ""));
  }
  return [];
}

const FOLDER = ["dashboards/", ""];
const PREFIX = ["dashboards-", ""];
const PROJECTS = ["crm-prod", "example.com:crm-prod", "123456789012", 123456789012];

describe("a secret store", () => {
  test.each<[string, Keys, object]>([
    [
      "file",
      { directory: "/var/lib/groupsync/tokens" },
      { directory: "/var/lib/groupsync/tokens", shared_directory: false, path: ["", ""], format: "token" },
    ],
    [
      "vault",
      { address: "https://vault.internal:8200/", auth: { token: "${VAULT_TOKEN}" } },
      {
        address: "https://vault.internal:8200",
        allow_http: false,
        mount: "secret",
        path: FOLDER,
        format: "token",
        auth: { token: new Secret("hvs.hunter2") },
      },
    ],
    ["aws_secrets_manager", {}, { path: FOLDER, format: "token", allow_http: false }],
    [
      "gcp_secret_manager",
      { project: "crm-prod" },
      { project: "crm-prod", path: PREFIX, format: "token", allow_http: false },
    ],
    [
      "azure_key_vault",
      { vault_url: "https://crm.vault.azure.net" },
      { vault_url: "https://crm.vault.azure.net", path: PREFIX, format: "token" },
    ],
    ["kubernetes", {}, { path: PREFIX, format: "token", key: "token" }],
  ])("%s needs only the keys %j", (store, keys, expected) => {
    expect(load({ store, ...keys })).toEqual([{ store, ...expected }]);
  });

  test.each([true, "true"])("a directory may be shared: %j", (shared_directory) => {
    expect(load({ store: "file", directory: "/x", shared_directory })).toMatchObject([
      { shared_directory: true },
    ]);
  });

  test("reads its credential from a variable", () => {
    const tokens = load({ store: "vault", address: "https://v", auth: { token: "${VAULT_TOKEN}" } });
    const [store] = tokens;
    const login = store?.store === "vault" && "token" in store.auth ? store.auth : undefined;
    expect(login?.token.reveal()).toBe("hvs.hunter2");
  });

  test.each(PROJECTS)("%j names a project", (project) => {
    expect(load({ store: "gcp_secret_manager", project })).toMatchObject([{ project: String(project) }]);
  });

  test.each(["CRM-prod", "crm", "crm-prod-", "4711-crm", "projects/crm-prod", "0"])(
    "%j names no project",
    (project) => {
      expect(problemsOf({ store: "gcp_secret_manager", project })).toEqual([
        expect.stringContaining("is not the id or number of a project; write it like crm-prod-4711"),
      ]);
    },
  );

  test.each<[Keys, object]>([
    [
      { method: "approle", role_id: "r", secret_id: "${SECRET_ID}" },
      { method: "approle", mount: "approle", role_id: "r", secret_id: new Secret("hunter2-hunter2") },
    ],
    [
      { method: "kubernetes", role: "groupsync", mount: "/k8s/" },
      {
        method: "kubernetes",
        mount: "k8s",
        role: "groupsync",
        token_file: "/var/run/secrets/kubernetes.io/serviceaccount/token",
      },
    ],
  ])("vault takes the login %j", (auth, expected) => {
    expect(load({ store: "vault", address: "https://v", auth })).toMatchObject([{ auth: expected }]);
  });

  test.each<[string, Keys, string[]]>([
    [
      "an unknown store, and nothing else",
      { store: "valut", address: "https://v" },
      ["tokens.store: is not possible here; did you mean vault?"],
    ],
    [
      "a list as the kind of store",
      { store: ["file", "vault"] },
      ["tokens.store: is not possible here; write table or file or vault or"],
    ],
    [
      "a key of another store",
      { store: "file", table: "tokens" },
      ["tokens.directory: is missing", "tokens.table: unknown key"],
    ],
    ["a key of a store in a table", { directory: "/x" }, ["tokens.directory: unknown key"]],
    [
      "a directory that is shared with a group",
      { store: "file", directory: "/x", shared_directory: "staff" },
      ["tokens.shared_directory: is not true or false; write true or false"],
    ],
    [
      "a path without the id",
      { store: "aws_secrets_manager", path: "dashboards/{{ id }}" },
      [
        "tokens.path: has to have {{ user_group_id }} in it once, and no other braces; write it like dashboards/{{ user_group_id }}",
      ],
    ],
    [
      "a path that the store forbids",
      { store: "gcp_secret_manager", project: "crm-prod", path: "dashboards/{{ user_group_id }}" },
      [
        "tokens.path: is not a path that this store takes; write it like dashboards-{{ user_group_id }}, around the id with letters, digits and -",
      ],
    ],
    [
      "a path that leaves no room for an id",
      { store: "azure_key_vault", vault_url: "https://v", path: `${"a".repeat(62)}{{ user_group_id }}` },
      ["is too long: a name has at most 127 characters, of which an id may need 66"],
    ],
    [
      "a path that leads out of the directory",
      { store: "file", directory: "/x", path: "../{{ user_group_id }}" },
      ["tokens.path: is not a path that this store takes"],
    ],
    [
      "the address of a secret in place of a vault",
      { store: "azure_key_vault", vault_url: "https://crm.vault.azure.net/secrets/x" },
      ["tokens.vault_url: is not the address of a vault; write it like https://my-vault.vault.azure.net"],
    ],
    [
      "an endpoint without a scheme, with an example for this store",
      { store: "aws_secrets_manager", endpoint: "localhost:4566", region: "EU (Frankfurt)" },
      [
        "tokens.endpoint: is not the address of an endpoint; write it like https://vpce-",
        "tokens.region: is not a region; write its code, like eu-central-1",
      ],
    ],
    [
      "an endpoint with a path, which the client would ignore",
      {
        store: "gcp_secret_manager",
        project: "crm-prod",
        endpoint: "https://secretmanager.googleapis.com/v1",
      },
      [
        "tokens.endpoint: is not the address of an endpoint; write it like https://secretmanager.europe-west3",
      ],
    ],
    [
      "characters that a request's path cannot hold",
      { store: "vault", address: "vault:8200", mount: "a secret?", namespace: "../x", auth: { token: "t" } },
      [
        "tokens.address: is not the address of a server; write it like https://vault.internal:8200",
        "tokens.mount: is not the path of a KV version 2 engine; write it like secret",
        "tokens.namespace: is not a namespace; write it like teams/data",
      ],
    ],
    [
      "names that Kubernetes does not allow",
      { store: "kubernetes", namespace: "Dashboards", kubeconfig: "~/.kube/config", key: "the token" },
      [
        "tokens.namespace: is not a namespace; write it like dashboards",
        "tokens.kubeconfig: is not a file; write its whole path, like /etc/groupsync/kubeconfig",
        `tokens.key: is not a key of a Secret's data; write letters`,
      ],
    ],
    [
      "a login that is no section",
      { store: "vault", address: "https://v", auth: "${VAULT_TOKEN}" },
      [
        "tokens.auth: is not a section; put its keys below it, each with a space after its colon: method: token or approle or kubernetes, and",
      ],
    ],
    ["no login", { store: "vault", address: "https://v" }, ["tokens.auth.token: is missing"]],
    [
      "an unknown login",
      { store: "vault", address: "https://v", auth: { method: "ldap", token: "t" } },
      ["tokens.auth.method: is not possible here; write token or approle or kubernetes"],
    ],
    [
      "an address with a password, without showing it",
      { store: "vault", address: "https://me:hunter2@v", auth: { token: "t" } },
      ["tokens.address: is not the address of a server"],
    ],
  ])("names %s", (_, keys, expected) => {
    const problems = problemsOf(keys);
    expect(problems).toEqual(expected.map((part) => expect.stringContaining(part)));
    expect(problems.join()).not.toContain("hunter2");
  });
});

describe("several stores", () => {
  test("are a list, each with its own keys and its own verify", () => {
    expect(
      load([
        { table: "app.tokens", verify: "24h" },
        { store: "file", directory: "/x", format: "json", verify: "1h" },
      ]),
    ).toMatchObject([
      { store: "table", table: "app.tokens", rows: "own", verify: 86_400_000 },
      { store: "file", directory: "/x", format: "json", verify: 3_600_000 },
    ]);
  });

  test.each<[string, Entries, string[]]>([
    [
      "an empty entry",
      [null, {}],
      ["tokens.0: is an empty entry; write its keys behind the dash, or remove it"],
    ],
    [
      "an entry that is no section",
      ["file", { directory: "/x", store: "file" }],
      [
        "tokens.0: is not a section; put its keys below it, each with a space after its colon: store: table or",
      ],
    ],
    ["an empty list", [], ["tokens: is an empty list; leave it out, or name one or more"]],
    [
      "problems in each, by its index",
      [{ rows: "existing" }, { store: "file", direktory: "/x", verify: "0s" }],
      [
        "tokens.0.table: is missing; with rows: existing",
        "tokens.0.id_column: is missing",
        "tokens.0.token_column: is missing",
        "tokens.1.directory: is missing",
        'tokens.1.direktory: unknown key; did you mean "directory"?',
        "tokens.1.verify: is not a duration above zero",
      ],
    ],
    [
      "the table of the tenants among them",
      [{ store: "file", directory: "/x" }, { table: "customers" }],
      ["tokens.1.table: is the table of the tenants"],
    ],
  ])("are checked: %s", (_, tokens, expected) => {
    expect(problemsOf(tokens)).toEqual(expected.map((part) => expect.stringContaining(part)));
  });
});
