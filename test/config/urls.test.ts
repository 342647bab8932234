import { expect, it } from "vitest";
import {
  defaultListenAddress,
  parseBaseUrl,
  parseDatabaseUrl,
  parseListenAddress,
  tlsProblems,
} from "../../src/config/urls.ts";

it.each([
  ["postgres://app:p%40ss@db:5432/crm?sslmode=require", "postgres"],
  ["postgresql:///crm", "postgres"],
  ["mysql://root@127.0.0.1/crm", "mysql"],
  ["mariadb://db/crm", "mysql"],
])("%s is a %s url and stays as it is", (text, dialect) => {
  const parsed = parseDatabaseUrl(text);
  expect(parsed?.dialect).toBe(dialect);
  expect(parsed?.url.reveal()).toBe(text);
});

it.each([
  "",
  "db:5432",
  "sqlite://x",
  "postgres:crm",
  "postgres://app:50%@db/crm",
  "postgres://app:50/x@db/crm",
  "postgres://app:@x?y@db/crm",
  "postgres://app:@x#y@db/crm",
  "postgres://db:port/crm",
])("%j is no database url", (text) => {
  expect(parseDatabaseUrl(text)).toBeUndefined();
});

const tlsProblemsOf = (text: string): readonly string[] => {
  const parsed = parseDatabaseUrl(text);
  return parsed ? [...tlsProblems(parsed)] : ["no url"];
};

it.each([
  "postgres://db/crm?sslmode=require&application_name=x&options=-c%20a%3Db&host=/run&connect_timeout=5",
  "postgres://db/crm?sslmode=require&channel_binding=require&uselibpqcompat=true&target_session_attrs=any",
  "mysql://db/crm?ssl-mode=REQUIRED&charset=utf8mb4",
])("%s has no misspelt parameter for TLS", (text) => {
  expect(tlsProblemsOf(text)).toEqual([]);
});

it.each([
  ["postgres://localhost/crm?ssl-mode=require", "ssl-mode", "did you mean sslmode?"],
  ["postgres://localhost/crm?slmode=require", "slmode", "did you mean sslmode?"],
  ["postgres://localhost/crm?sslMode=require", "sslMode", "did you mean sslmode?"],
  ["postgres://localhost/crm?ssl=true", "ssl", "those for TLS are sslmode, sslrootcert, sslcert, sslkey"],
  ["postgres://localhost/crm?requiressl=1", "requiressl", "those for TLS are sslmode"],
  ["mysql://localhost/crm?sslmode=require", "sslmode", "did you mean ssl-mode?"],
  ["mysql://localhost/crm?ssl_mode=REQUIRED", "ssl_mode", "did you mean ssl-mode?"],
  ["mysql://localhost/crm?tls=true", "tls", "those for TLS are ssl-mode, ssl-ca, ssl-cert, ssl-key"],
  ['mysql://localhost/crm?ssl={"rejectUnauthorized":false}', "ssl", "those for TLS are ssl-mode"],
])("%s has a wrong parameter for TLS", (text, name, remedy) => {
  const problem = `the url's parameter ${name} means nothing here; ${remedy}`;
  expect(tlsProblemsOf(text)).toEqual([expect.stringContaining(problem)]);
});

it.each([
  ["https://dash.example.com", "https://dash.example.com"],
  ["https://dash.example.com//", "https://dash.example.com"],
  ["http://localhost:8080/tenant/a/", "http://localhost:8080/tenant/a"],
])("%s is the base url %s", (text, baseUrl) => {
  expect(parseBaseUrl(text)).toBe(baseUrl);
});

it.each([
  "dash.example.com",
  "ftp://dash.example.com",
  "https://dash.example.com/api/user/",
  "https://dash.example.com?team=1",
  "https://user:password@dash.example.com",
])("%j is no base url", (text) => {
  expect(parseBaseUrl(text)).toBeUndefined();
});

it.each([
  ["127.0.0.1:8080", { host: "127.0.0.1", port: 8080 }],
  ["0.0.0.0:0", { host: "0.0.0.0", port: 0 }],
  ["localhost:65535", { host: "localhost", port: 65_535 }],
  ["my-host_1.example.com:80", { host: "my-host_1.example.com", port: 80 }],
  ["[::1]:8080", { host: "::1", port: 8080 }],
  ["[::ffff:127.0.0.1]:8080", { host: "::ffff:127.0.0.1", port: 8080 }],
  ["off", "off"],
  ["localhost:65536", undefined],
  ["localhost", undefined],
  ["8080", undefined],
  ["::1:8080", undefined],
  ["[localhost]:8080", undefined],
  ["http://localhost:8080", undefined],
  ["localhost:8080\n", undefined],
  ["OFF", undefined],
])("%j is this address to listen on, or none: %j", (text, address) => {
  expect(parseListenAddress(text)).toEqual(address);
});

it.each([
  ["is not there", {}, { host: "127.0.0.1", port: 8080 }],
  ["is empty", { GROUPSYNC_HTTP_LISTEN: "" }, { host: "127.0.0.1", port: 8080 }],
  ["is an address", { GROUPSYNC_HTTP_LISTEN: "0.0.0.0:9" }, { host: "0.0.0.0", port: 9 }],
  ["is off", { GROUPSYNC_HTTP_LISTEN: "off" }, "off"],
])("is the default address if the variable %s", (_, env, address) => {
  expect(defaultListenAddress(env)).toEqual(address);
});

it("throws an error that names the variable if it is no address", () => {
  expect(() => defaultListenAddress({ GROUPSYNC_HTTP_LISTEN: "8080" })).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: 'GROUPSYNC_HTTP_LISTEN is "8080"' }),
  );
});
