import { expect, test } from "vitest";
import {
  fits,
  SECRET_NAMING,
  type SecretPath,
  type SecretStoreKind,
} from "../../../src/core/tokens/secrets.ts";

test.each<[SecretStoreKind, SecretPath, boolean]>([
  ["file", ["dashboards/", ".token"], true],
  ["file", ["../../", ""], false],
  ["file", ["/etc/", ""], false],
  ["vault", ["dashboards/", ""], true],
  ["vault", ["a b/", ""], false],
  ["vault", ["../sys/", ""], false],
  ["vault", ["a/", "/.."], false],
  ["vault", ["a..b/", "/x"], true],
  ["gcp_secret_manager", ["dashboards/", ""], false],
  ["gcp_secret_manager", ["dashboards-", ""], true],
  ["azure_key_vault", ["Dashboards-", ""], false],
  ["azure_key_vault", ["d".repeat(62), ""], false],
  ["kubernetes", ["groupsync-", ""], true],
  ["kubernetes", ["", ""], false],
  ["kubernetes", ["groupsync.", ""], false],
  ["kubernetes", ["a.b-", "-token"], true],
])("%s takes a path with %j around the id: %s", (kind, path, expected) => {
  expect(fits(path, SECRET_NAMING[kind])).toBe(expected);
});
