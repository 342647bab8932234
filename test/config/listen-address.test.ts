import { expect, test } from "vitest";
import { defaultListenAddress, parseListenAddress } from "../../src/config/urls.ts";

test.each([
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
])("%j", (text, address) => {
  expect(parseListenAddress(text)).toEqual(address);
});

test.each([
  ["is not there", {}, { host: "127.0.0.1", port: 8080 }],
  ["is empty", { GROUPSYNC_HTTP_LISTEN: "" }, { host: "127.0.0.1", port: 8080 }],
  ["is an address", { GROUPSYNC_HTTP_LISTEN: "0.0.0.0:9" }, { host: "0.0.0.0", port: 9 }],
  ["is off", { GROUPSYNC_HTTP_LISTEN: "off" }, "off"],
])("if the variable %s", (_, env, address) => {
  expect(defaultListenAddress(env)).toEqual(address);
});

test("an error names the variable if it is no address", () => {
  expect(() => defaultListenAddress({ GROUPSYNC_HTTP_LISTEN: "8080" })).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: 'GROUPSYNC_HTTP_LISTEN is "8080"' }),
  );
});
