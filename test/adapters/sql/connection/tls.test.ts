import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { tlsSettings } from "../../../../src/adapters/sql/connection/tls.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { aCertificateAuthority } from "../../../support/servers/certificates.ts";
import { type ServerCertificate, TLS_DATABASES, type TlsDatabase, type TlsServer } from "./tls-servers.ts";

const authority = await aCertificateAuthority("the CA");
const stranger = await aCertificateAuthority("another CA");
const namesake = await aCertificateAuthority("the CA");
const client = await authority.issue([]);

const folder = mkdtempSync(join(tmpdir(), "groupsync-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const CA = file("ca.pem", authority.cert);
const ANOTHER_CA = file("another-ca.pem", stranger.cert);
const NAMESAKE = file("namesake.pem", namesake.cert);
/** As providers give them out: several, with words in between. */
const BUNDLE = file("bundle.pem", `The old root\n${stranger.cert}\nThe new root\n${authority.cert}`);
const PEM = {
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
} as const;
const CLIENT = { cert: file("client.pem", client.cert), key: file("client.key", client.key) };

const HOUR = 3_600_000;
const CERTIFICATES: Readonly<Record<string, () => Promise<ServerCertificate | undefined>>> = {
  "for localhost": () => authority.issue(["localhost"]),
  "for 127.0.0.1": () => authority.issue(["127.0.0.1"]),
  expired: () => authority.issue(["localhost"], new Date(Date.now() - HOUR)),
  "asking for the client's": async () => ({
    ...(await authority.issue(["localhost"])),
    clientCa: authority.cert,
  }),
  "not there": async () => undefined,
};

type Words = TlsDatabase["words"];
type Parameters = (words: Words) => Readonly<Record<string, string>>;

const nothing: Parameters = () => ({});
const off: Parameters = ({ mode, off }) => ({ [mode]: off });
const on: Parameters = ({ mode, on }) => ({ [mode]: on });
const onWith =
  (path: string): Parameters =>
  ({ mode, on, ca }) => ({ [mode]: on, [ca]: path });
const caAlone: Parameters = ({ ca }) => ({ [ca]: CA });
const caOnly =
  (path: string): Parameters =>
  ({ mode, caOnly, ca }) => ({ [mode]: caOnly, [ca]: path });
const unverified: Parameters = ({ mode, unverified }) => ({ [mode]: unverified });
const asClient: Parameters = (words) => ({
  ...onWith(CA)(words),
  [words.cert]: CLIENT.cert,
  [words.key]: CLIENT.key,
});

const ENCRYPTED = true;
const PLAIN = false;
const UNTRUSTED = /signed by nobody who is trusted here; name the CA's file in the url: ssl/;
const OTHER_HOST = /is for another host/;
const NO_TLS = /this server has none/;

type Case = readonly [
  certificate: string,
  host: string,
  what: string,
  parameters: Parameters,
  /** Encrypted or not; or refused, with this hint, where the error is one of TLS. */
  outcome: boolean | RegExp | undefined,
];

const CASES: readonly Case[] = [
  ["for localhost", "localhost", "its CA", onWith(CA), ENCRYPTED],
  ["for localhost", "localhost", "its CA among others", onWith(BUNDLE), ENCRYPTED],
  ["for localhost", "localhost", "its CA and no mode", caAlone, ENCRYPTED],
  ["for localhost", "localhost", "no CA", on, UNTRUSTED],
  ["for localhost", "localhost", "another CA", onWith(ANOTHER_CA), UNTRUSTED],
  ["for localhost", "localhost", "another CA of the same name", onWith(NAMESAKE), UNTRUSTED],
  ["for localhost", "localhost", "another CA, and any host", caOnly(ANOTHER_CA), UNTRUSTED],
  ["for localhost", "localhost", "TLS off", off, PLAIN],
  ["for localhost", "localhost", "not a word of TLS", nothing, PLAIN],
  ["for localhost", "127.0.0.1", "its CA", onWith(CA), OTHER_HOST],
  ["for localhost", "127.0.0.1", "its CA and no mode", caAlone, OTHER_HOST],
  ["for localhost", "127.0.0.1", "its CA, and any host", caOnly(CA), ENCRYPTED],
  ["for localhost", "127.0.0.1", "nothing verified", unverified, ENCRYPTED],
  ["for 127.0.0.1", "127.0.0.1", "its CA", onWith(CA), ENCRYPTED],
  ["for 127.0.0.1", "localhost", "its CA", onWith(CA), OTHER_HOST],
  ["expired", "localhost", "its CA", onWith(CA), undefined],
  ["expired", "localhost", "its CA, and any host", caOnly(CA), undefined],
  ["asking for the client's", "localhost", "a client's certificate", asClient, ENCRYPTED],
  ["asking for the client's", "localhost", "no client's certificate", onWith(CA), undefined],
  ["not there", "localhost", "TLS", on, NO_TLS],
  ["not there", "localhost", "TLS with nothing verified", unverified, NO_TLS],
];

const { name, isThere, words, start, isEncrypted } = TLS_DATABASES[inject("databaseKind")];

describe.skipIf(!isThere)(`TLS to ${name}`, () => {
  const servers = new Map<string, TlsServer>();
  beforeAll(async () => {
    for (const [kind, certificate] of Object.entries(CERTIFICATES)) {
      servers.set(kind, await start(await certificate()));
    }
  });
  afterAll(() => Promise.all([...servers.values()].map((server) => server.stop())));

  test.each(CASES)("certificate %s, host %s, %s", async (kind, host, _, parameters, outcome) => {
    const url = new URL(servers.get(kind)?.url ?? "");
    url.hostname = host;
    url.search = new URLSearchParams(parameters(words)).toString();
    const answer = isEncrypted(url.href);
    if (typeof outcome === "boolean") expect(await answer).toBe(outcome);
    else
      expect(await rejection(answer)).toMatchObject(outcome ? { hint: expect.stringMatching(outcome) } : {});
  });
});

describe("the files that a url names", () => {
  const other = file("other.key", String(generateKeyPairSync("ed25519", PEM).privateKey));
  const notes = file("notes.txt", "see the wiki");
  const spoiled = file("spoiled.pem", `${authority.cert}\n${stranger.cert.replace(/[A-Za-z]{20}/, "A")}`);
  const settingsOf = (query: string) =>
    tlsSettings("mysql", new Secret(`mysql://app:hunter2@db/crm?ssl-mode=REQUIRED&${query}`));

  test("are given to the driver as they are", () => {
    expect(settingsOf(`ssl-ca=${BUNDLE}&ssl-cert=${CLIENT.cert}&ssl-key=${CLIENT.key}`)).toEqual({
      kind: "on",
      verify: "full",
      pem: { ca: readFileSync(BUNDLE, "utf8"), ...client },
    });
  });

  test.each([
    ["ssl-ca=/gone.pem", "the file /gone.pem (ssl-ca in the url) cannot be read (ENOENT)"],
    [`ssl-ca=${notes}`, `the file ${notes} (ssl-ca in the url) is not a CA certificate`],
    [`ssl-ca=${spoiled}`, `the file ${spoiled} (ssl-ca in the url) is not a CA certificate`],
    [`ssl-cert=${CLIENT.cert}&ssl-key=${CLIENT.cert}`, "are not a certificate and its private key"],
    [`ssl-cert=${CLIENT.cert}&ssl-key=${other}`, "are not a certificate and its private key"],
  ])("are checked: %s", async (query, problem) => {
    expect(await rejection((async () => settingsOf(query))())).toMatchObject({
      code: "CONFIG_TLS",
      message: expect.stringContaining(problem),
    });
  });
});
