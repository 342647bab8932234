import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { connectionFindings } from "../../../src/engine/check/connections.ts";
import type { SyncConnection } from "../../../src/ports/check.ts";
import { allOf, signsOf } from "./findings.ts";

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
