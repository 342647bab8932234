import { describe, expect, it } from "vitest";
import { readTls, type TlsDialect } from "../../src/core/database-tls.ts";

const read = (dialect: TlsDialect, query: string) =>
  readTls(dialect, `${dialect}://app:pw@db.example.com/crm?${query}`);

const on = (verify: string, files = {}) => ({ kind: "on", verify, files });

describe("what a url asks for:", () => {
  it.each([
    ["postgres", "", undefined],
    ["postgres", "application_name=crm", undefined],
    ["postgres", "sslmode=disable", { kind: "off" }],
    ["postgres", "sslmode=require", on("full")],
    ["postgres", "sslmode=verify-full", on("full")],
    ["postgres", "sslmode=verify-ca&sslrootcert=/ca.pem", on("ca", { ca: "/ca.pem" })],
    ["postgres", "sslmode=no-verify", on("none")],
    ["postgres", "sslrootcert=/my%20ca.pem", on("full", { ca: "/my ca.pem" })],
    ["postgres", "sslmode=verify-full&sslrootcert=system", on("full")],
    ["postgres", "sslrootcert=system", on("full")],
    ["postgres", "sslcert=/c.pem&sslkey=/c.key", on("full", { cert: "/c.pem", key: "/c.key" })],
    ["postgres", "sslmode=require&sslnegotiation=direct", on("full")],
    ["postgres", "sslnegotiation=postgres", undefined],
    ["mysql", "", undefined],
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

describe("what a url can't ask for:", () => {
  it.each([
    ["postgres", "sslmode=prefer", "sslmode=prefer would go on without TLS", "write require"],
    ["postgres", "sslmode=allow", "sslmode=allow would go on without TLS", "or disable"],
    ["mysql", "ssl-mode=Preferred", "ssl-mode=Preferred would go on without TLS", "write REQUIRED"],
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
    ["postgres", "sslmode=require&sslnegotiation=fast", "sslnegotiation=fast is none of", "direct"],
    ["postgres", "sslnegotiation=direct", "sslnegotiation=direct needs TLS", "sslmode=require"],
    [
      "postgres",
      "sslmode=disable&sslnegotiation=direct",
      "sslnegotiation=direct needs TLS",
      "sslmode=require",
    ],
  ] as const)("%s: %s", (dialect, query, problem, remedy) => {
    const { problems } = read(dialect, query);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]).toContain(remedy);
  });

  it("a password is not told, where a broken url has it among its parameters", () => {
    expect(read("postgres", "sslmode=require;password=hunter2").problems.join()).not.toContain("hunter2");
  });
});
