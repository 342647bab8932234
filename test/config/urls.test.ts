import { expect, it } from "vitest";
import { parseBaseUrl, parseDatabaseUrl } from "../../src/config/urls.ts";

it.each([
  ["postgres://app:p%40ss@db:5432/crm?sslmode=require", "postgres"],
  ["postgresql:///crm", "postgres"],
  ["mysql://root@127.0.0.1/crm", "mysql"],
  ["mariadb://db/crm", "mysql"],
])("%s is a %s url, kept as it is", (text, dialect) => {
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
