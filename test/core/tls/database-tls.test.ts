import { describe, expect, it } from "vitest";
import { readTls, type TlsDialect } from "../../../src/core/tls/database-tls.ts";

const read = (dialect: TlsDialect, query = "", host = "db.example.com") =>
  readTls(dialect, `${dialect}://app:pw@${host}/crm?${query}`);

const on = (verify: string, files = {}) => ({ kind: "on", verify, files });

describe("what a url asks for:", () => {
  it.each([
    ["postgres", "sslmode=disable", { kind: "off" }],
    ["postgres", "sslmode=require", on("full")],
    ["postgres", "sslmode=verify-full", on("full")],
    ["postgres", "sslmode=verify-ca&sslrootcert=/ca.pem", on("ca", { ca: "/ca.pem" })],
    ["postgres", "sslmode=no-verify", on("none")],
    ["postgres", "sslrootcert=/my%20ca.pem", on("full", { ca: "/my ca.pem" })],
    ["postgres", "sslmode=verify-full&sslrootcert=system", on("full")],
    ["postgres", "sslrootcert=system", on("full")],
    ["postgres", "sslcert=/c.pem&sslkey=/c.key", on("full", { cert: "/c.pem", key: "/c.key" })],
    ["mysql", "ssl-mode=DISABLED", { kind: "off" }],
    ["mysql", "ssl-mode=required", on("full")],
    ["mysql", "ssl-mode=VERIFY_IDENTITY", on("full")],
    ["mysql", "ssl-mode=verify-ca&ssl-ca=/ca.pem", on("ca", { ca: "/ca.pem" })],
    ["mysql", "ssl-mode=no-verify", on("none")],
    ["mysql", "ssl-ca=/ca.pem", on("full", { ca: "/ca.pem" })],
    ["mysql", "ssl-ca=system", on("full", { ca: "system" })],
    ["mysql", "ssl-cert=/c.pem&ssl-key=/c.key", on("full", { cert: "/c.pem", key: "/c.key" })],
  ] as const)("%s: %s", (dialect, query, tls) => {
    expect(read(dialect, query)).toEqual({ tls, problems: [] });
  });
});

describe("a url that says nothing of TLS", () => {
  it.each<[TlsDialect, string, string?]>([
    ["postgres", "localhost"],
    ["postgres", "LOCALHOST:5432"],
    ["postgres", "127.0.0.1"],
    ["postgres", "127.255.3.9:6432"],
    ["postgres", "[::1]:5432"],
    ["postgres", "%2Fvar%2Frun%2Fpostgresql"],
    ["postgres", "db.example.com", "host=/var/run/postgresql"],
    ["postgres", "db.example.com", "host=db.example.com&host=::1&application_name=crm"],
    ["mysql", "localhost"],
    ["mysql", "127.0.0.1:3306"],
    ["mysql", "[::1]"],
  ])("is plain on this machine: %s, %s", (dialect, host, query) => {
    expect(read(dialect, query, host)).toEqual({ tls: { kind: "off" }, problems: [] });
  });

  it.each<[TlsDialect, string, string?]>([
    ["postgres", "db.example.com"],
    ["postgres", "10.0.0.1"],
    ["postgres", "0.0.0.0"],
    ["postgres", "[fd00::1]"],
    ["postgres", "[::ffff:10.0.0.1]"],
    ["postgres", "127.0.0.1.example.com"],
    ["postgres", "127.0.0.256"],
    ["postgres", "localhost.example.com"],
    ["postgres", "localhost", "host=db.example.com"],
    ["postgres", "localhost", "host=localhost&host=db.example.com"],
    ["mysql", "db.example.com"],
    ["mysql", "db.example.com", "host=localhost"],
  ])("has to say it of another host: %s, %s", (dialect, host, query) => {
    const { problems } = read(dialect, query, host);
    expect(problems).toEqual([expect.stringContaining("leads to another host and says nothing of TLS")]);
    expect(problems[0]).toMatch(/=(require|REQUIRED), .*=(disable|DISABLED) /);
  });

  it("leads to this machine where it names no host", () => {
    expect(readTls("postgres", "postgres:///crm")).toEqual({ tls: { kind: "off" }, problems: [] });
  });
});

describe("what a url can't ask for:", () => {
  it.each([
    ["postgres", "sslmode=prefer", "sslmode=prefer is none of", "require"],
    ["mysql", "ssl-mode=Preferred", "ssl-mode=Preferred is none of", "REQUIRED"],
    ["postgres", "sslmode=verify_full", "sslmode=verify_full is none of", "verify-full"],
    ["postgres", "sslmode=REQUIRE", "sslmode=REQUIRE is none of", "require"],
    ["postgres", "sslmode=", "sslmode is none of", "require"],
    ["postgres", "sslmode=constructor", "sslmode=constructor is none of", "require"],
    ["mysql", "ssl-mode=on", "ssl-mode=on is none of", "REQUIRED"],
    ["postgres", "sslmode=verify-ca", "sslmode=verify-ca needs a CA file", "sslrootcert="],
    ["postgres", "sslmode=verify-ca&sslrootcert=system", "sslmode=verify-ca needs a CA file", "sslrootcert="],
    ["mysql", "ssl-mode=verify_ca", "ssl-mode=VERIFY_CA needs a CA file", "ssl-ca="],
    ["postgres", "sslmode=require&sslrootcert=", "sslrootcert is empty", "PEM"],
    ["postgres", "sslcert=/c.pem", "sslcert without sslkey", "certificate"],
    ["mysql", "ssl-key=/c.key", "ssl-key without ssl-cert", "certificate"],
    ["postgres", "sslmode=disable&sslmode=require", "sslmode more than once", "keep one"],
  ] as const)("%s: %s", (dialect, query, problem, remedy) => {
    const { problems } = read(dialect, query);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]).toContain(remedy);
  });

  it("a password is not told, where a broken url has it among its parameters", () => {
    expect(read("postgres", "sslmode=require;password=hunter2").problems.join()).not.toContain("hunter2");
  });
});
