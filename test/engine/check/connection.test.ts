import { expect, test } from "vitest";
import { connectionPrivacy } from "../../../src/core/tls/database-tls.ts";
import { connectionFinding } from "../../../src/engine/check/connection.ts";
import { signsOf } from "./findings.ts";

test.each([
  ["postgres", "postgres://app@db.example.com/app?sslmode=require", "✓"],
  ["postgres", "postgres://app@127.0.0.1/app", "✓"],
  ["mysql", "mysql://app@db.example.com/app?ssl-mode=VERIFY_IDENTITY", "✓"],
  ["postgres", "postgres://app@db.example.com/app?sslmode=no-verify", "!"],
  ["mysql", "mysql://app@db.example.com/app?ssl-mode=NO_VERIFY", "!"],
  ["postgres", "postgres://app@db.example.com/app?sslmode=disable", "!"],
  ["mysql", "mysql://app@db.example.com/app?ssl-mode=DISABLED", "!"],
] as const)("a connection of %s to %s: %s", (dialect, url, sign) => {
  const finding = connectionFinding({ title: "app", privacy: connectionPrivacy(dialect, url) });
  expect(signsOf([finding])).toEqual([sign]);
  if (sign === "!") expect(finding.hint).toContain("docs/security.md#tls");
});
