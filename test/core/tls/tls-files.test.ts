import { createPrivateKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readTlsFiles } from "../../../src/core/tls/database-tls.ts";
import { aCertificateAuthority } from "../../support/servers/certificates.ts";

const authority = await aCertificateAuthority("the CA");
const { cert, key } = await authority.issue([]);
const other = await authority.issue([]);
const locked = createPrivateKey(key).export({
  type: "pkcs8",
  format: "pem",
  cipher: "aes-256-cbc",
  passphrase: "hunter2",
});

const FILES: Readonly<Record<string, string>> = {
  "/ca.pem": authority.cert,
  "/bundle.pem": `Root one\n${authority.cert}\nRoot two\n${cert}`,
  "/spoiled.pem": `${authority.cert}\n${cert.replace(/[A-Za-z]{20}/, "A")}`,
  "/c.pem": cert,
  "/c.key": key,
  "/other.key": other.key,
  "/locked.key": String(locked),
  "/notes.txt": "see the wiki",
};

function readFile(path: string): string {
  const text = FILES[path];
  if (text === undefined) throw Object.assign(new Error("gone"), { code: "ENOENT" });
  return text;
}

describe("files that are good", () => {
  it.each([
    [{}, {}],
    [{ ca: "/ca.pem" }, { ca: FILES["/ca.pem"] }],
    [{ ca: "/bundle.pem" }, { ca: FILES["/bundle.pem"] }],
    [
      { cert: "/c.pem", key: "/c.key" },
      { cert, key },
    ],
  ])("%j", (paths, contents) => {
    expect(readTlsFiles("postgres", paths, readFile)).toEqual({ contents, problems: [] });
  });
});

describe("files that are not", () => {
  it.each([
    [{ ca: "/gone.pem" }, "the file /gone.pem (ssl-ca in the url) cannot be read (ENOENT)"],
    [{ ca: "/notes.txt" }, "the file /notes.txt (ssl-ca in the url) is not a CA certificate"],
    [{ ca: "/c.key" }, "the file /c.key (ssl-ca in the url) is not a CA certificate"],
    [{ ca: "/spoiled.pem" }, "the file /spoiled.pem (ssl-ca in the url) is not a CA certificate"],
    [{ cert: "/c.key", key: "/c.key" }, "the file /c.key (ssl-cert in the url) is not a certificate"],
    [{ cert: "/c.pem", key: "/c.pem" }, "the file /c.pem (ssl-key in the url) is not a private key"],
    [{ cert: "/c.pem", key: "/locked.key" }, "is not a private key without a passphrase"],
    [{ cert: "/c.pem", key: "/other.key" }, "the key in /other.key (ssl-key) is not that of the certificate"],
  ])("%j", (paths, problem) => {
    expect(readTlsFiles("mysql", paths, readFile).problems).toEqual([expect.stringContaining(problem)]);
  });

  it("all of them are told", () => {
    const paths = { ca: "/gone.pem", cert: "/notes.txt", key: "/gone.key" };
    expect(readTlsFiles("postgres", paths, readFile).problems).toHaveLength(3);
  });
});
