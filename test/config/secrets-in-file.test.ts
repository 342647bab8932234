// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { loadConfig } from "../../src/config/load.ts";

const env = { KEY: "k3y", URL: "postgres://app:s3cret@localhost/crm", PASSWORD: "s3cret", HOST: "localhost" };

/** The keys whose secrets a config with these sections holds itself. */
function written(sections: Readonly<Record<string, unknown>>): string[] {
  const config = {
    service: { base_url: "https://dash.example.com", api_key: "${KEY}" },
    source: { url: "${URL}", table: "customers" },
    group: { id: "id", name: "company_name" },
    ...sections,
  };
  const readFile = (path: string) => (path === "config.yaml" ? stringify(config) : "s3cret");
  let found: readonly string[] = [];
  loadConfig("config.yaml", { env, readFile }, (keys) => {
    found = keys;
  });
  return [...found];
}

const service = (api_key: string) => ({ service: { base_url: "https://dash.example.com", api_key } });
const source = (url: string) => ({ source: { url, table: "customers" } });
const vault = (auth: object) => ({
  tokens: [
    { table: "app_tokens" },
    { store: "vault", address: "https://vault.example.com", mount: "secret", auth },
  ],
});

test.each([
  ["an API key", service("k3y"), "service.api_key"],
  ["a default that is no reference", service("${KEY:-k3y}"), "service.api_key"],
  ["a password in a url", source("postgres://app:s3cret@localhost/crm"), "source.url"],
  ["one beside a reference", source("mysql://app:s3cret@${HOST}/crm"), "source.url"],
  ["one that a url has as a parameter", source("postgres://localhost/crm?user=app&password=x"), "source.url"],
  ["the ledger's", { ledger: { url: "mysql://app:s3cret@localhost/ledger" } }, "ledger.url"],
  [
    "the listener's",
    {
      source: {
        url: "${URL}",
        table: "customers",
        changes: { channel: "changed", url: "postgres://app:0ther@localhost/crm" },
      },
    },
    "source.changes.url",
  ],
  ["the key of POST /sync", { http: { sync_key: "0123456789abcdef" } }, "http.sync_key"],
  [
    "the token table's",
    { tokens: { url: "mysql://app:s3cret@localhost/app", table: "app_tokens" } },
    "tokens.url",
  ],
  ["one in a list", vault({ method: "token", token: "t0ken" }), "tokens.1.auth.token"],
  ["an address that is a key", { notify: { webhook: "https://hooks.example.com/x" } }, "notify.webhook"],
  ["another one", { notify: { heartbeat: "https://hooks.example.com/x" } }, "notify.heartbeat"],
])("%s stands in the file", (_, sections, key) => {
  expect(written(sections)).toEqual([key]);
});

test.each([
  ["a variable", service("${KEY}")],
  ["a file", service("${file:/run/secrets/api-key}")],
  ["a password from a variable", source("postgres://app:${PASSWORD}@localhost/crm")],
  ["a password from a file", source("mysql://app:${file:/run/secrets/pw}@localhost:3306/crm")],
  ["a url without a password", source("postgres://app@localhost/crm")],
  ["a socket", source("postgres:///crm?host=/run/postgresql")],
  ["a key in a file of its own", vault({ method: "token", token: "${file:/run/secrets/vault}" })],
  ["a part of an address", { notify: { webhook: "https://hooks.example.com/${KEY}" } }],
])("%s stands elsewhere", (_, sections) => {
  expect(written(sections)).toEqual([]);
});
