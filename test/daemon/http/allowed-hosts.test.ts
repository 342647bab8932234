import { expect, test } from "vitest";
import { isAllowedHost } from "../../../src/daemon/http/allowed-hosts.ts";

test.each([
  "localhost",
  "127.0.0.1:8080",
  "[::1]:8080",
  "10.1.2.3",
  "groupsync.internal",
  "GroupSync.Internal.:8080",
])("a page may be asked for at %s", (header) => {
  expect(isAllowedHost(header, ["groupsync.internal"])).toBe(true);
});

test.each([
  undefined,
  "",
  "evil.example.com",
  "groupsync.internal.evil.example.com",
  "127.0.0.1.evil.example.com",
  "localhost:x",
  "user@localhost",
  "[::1",
])("a page isn't shown at %j", (header) => {
  expect(isAllowedHost(header, ["groupsync.internal"])).toBe(false);
});
