import { expect, test } from "vitest";
import { isLoopback, isPlainHttpToAnotherHost } from "../../../src/core/tls/database-tls.ts";

test.each(["localhost", "LOCALHOST", "127.0.0.1", "127.255.255.254", "::1", "[::1]", "/run/postgresql"])(
  "what is sent to %s stays on this machine",
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each([
  "",
  "db",
  "0.0.0.0",
  "127.0.0.1.example.com",
  "127.0.0.256",
  "localhost.example.com",
  "[::ffff:10.0.0.1]",
])("%j is another host", (host) => {
  expect(isLoopback(host)).toBe(false);
});

test.each([
  ["http://vault.internal:8200", true],
  ["https://vault.internal:8200", false],
  ["http://127.0.0.1:8200", false],
])("%s is plain http to another host: %s", (url, expected) => {
  expect(isPlainHttpToAnotherHost(new URL(url))).toBe(expected);
});
