import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { rejection } from "../contracts/collect.ts";
import { aCertificateAuthority } from "../support/servers/certificates.ts";

const { cert } = await aCertificateAuthority("the CA");

const load = async (yaml: string) =>
  loadConfig("config.yaml", {
    env: { TOKENS_URL: "mysql://app:hunter2@db/crm?ssl-ca=/notes.txt" },
    readFile: (path) => {
      if (path === "config.yaml") return yaml;
      if (path === "/ca.pem") return cert;
      if (path === "/notes.txt") return "see the wiki";
      throw Object.assign(new Error("gone"), { code: "ENOENT" });
    },
  });

const yaml = (sourceUrl: string, ledgerUrl: string) => `
service: { base_url: https://dash.example.com, api_key: k3y }
source:
  table: customers
  url: ${sourceUrl}
group: { id: id, name: name }
ledger:
  url: ${ledgerUrl}
tokens:
  url: \${TOKENS_URL:-}
  rows: mine
`;

test("problems of the urls, of their files and of other keys are in one report", async () => {
  const problems = yaml(
    "postgres://app:hunter2@db/crm?sslmode=prefer&sslrotcert=/ca.pem",
    "postgres://app:hunter2@db/crm?sslmode=verify-ca&sslrootcert=/gone.pem",
  );
  expect(await rejection(load(problems))).toMatchObject({
    code: "CONFIG_INVALID",
    message: `config.yaml has 5 problems:
  line 5   source.url: the url's parameter sslrotcert means nothing here; did you mean sslrootcert?
  line 5   source.url: the url's sslmode=prefer would go on without TLS where it is told that there is none; write require, which insists on it, or disable
  line 8   ledger.url: the file /gone.pem (sslrootcert in the url) cannot be read (ENOENT); does it exist, and may this user read it?
  line 10  tokens.url: the file /notes.txt (ssl-ca in the url) is not a CA certificate; write the path of one in PEM form
  line 11  tokens.rows: "mine" is not possible here; write own or existing`,
  });
});

test("a missing file alone makes a config wrong", async () => {
  const url = "postgres://app:hunter2@db/crm?sslrootcert=/gone.pem";
  const config = yaml(url, "postgres://localhost/crm").replace(/tokens:[\s\S]*/, "");
  expect(await rejection(load(config))).toMatchObject({ message: expect.stringContaining("has 1 problem:") });
});

test("a url whose CA file is right stays as it is", async () => {
  const url = "postgres://app:hunter2@db/crm?sslrootcert=/ca.pem";
  const config = await load(yaml(url, url).replace(/tokens:[\s\S]*/, ""));
  expect(config.ledger.url.url.reveal()).toBe(url);
});
