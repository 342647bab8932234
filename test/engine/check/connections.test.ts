import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { connectionPrivacy } from "../../../src/core/tls/database-tls.ts";
import {
  connectionFinding,
  connectionFindings,
  type SyncConnection,
} from "../../../src/engine/check/connections.ts";
import { allOf, signsOf } from "./findings.ts";

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

/** Connections to a database that gives `most` at once. */
function aPool(most: number) {
  let openNow = 0;
  const connection = (name: string, more: Partial<SyncConnection> = {}): SyncConnection => ({
    for: name,
    open: async () => {
      if (openNow === most) throw new SyncError("LEDGER_UNAVAILABLE", "no answer");
      openNow++;
      return async () => {
        openNow--;
      };
    },
    ...more,
  });
  const find = async () => {
    const connections = [
      connection("to read"),
      connection("to write"),
      connection("spare", { isSpare: true }),
    ];
    const found = await allOf(connectionFindings(connections, new AbortController().signal));
    expect(openNow).toBe(0);
    return found;
  };
  return { find };
}

test("as many connections as a sync uses are well", async () => {
  expect(signsOf(await aPool(3).find())).toEqual(["✓"]);
});

test("too few are a failure that says how many there are, what is missing, and what helps", async () => {
  expect(await aPool(1).find()).toEqual([
    {
      level: "failure",
      code: "LEDGER_UNAVAILABLE",
      message: "a sync uses 3 connections at once and gets 1; to write: no answer",
      hint: expect.stringContaining("3 connections at once: default_pool_size"),
    },
  ]);
});

test("one too few is a warning if only a long read needs it", async () => {
  expect(signsOf(await aPool(2).find())).toEqual(["! LEDGER_UNAVAILABLE"]);
});

test("a database that gives none is left to its own check", async () => {
  expect(await aPool(0).find()).toEqual([]);
});
