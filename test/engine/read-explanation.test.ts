import { expect, test } from "vitest";
import { indexedOnly } from "../../src/engine/read-explanation.ts";
import type { TenantLookUps } from "../../src/ports/tenant-source.ts";

const stop = new AbortController().signal;

function aSource(isIndexed: boolean) {
  let closed = 0;
  const lookUps: TenantLookUps = {
    ...{ table: "customers", isIndexed, rowsOf: async () => [] },
    close: async () => {
      closed++;
    },
  };
  const source = { open: () => Promise.reject(new Error("not to be opened")), lookUps: async () => lookUps };
  return { lookUps, source: indexedOnly(source), closed: () => closed };
}

test("a tenant that an index finds is looked up", async () => {
  const { source, lookUps, closed } = aSource(true);
  expect(await source.lookUps(["id"], "", stop)).toBe(lookUps);
  expect(closed()).toBe(0);
});

test("without an index nothing is read, and no connection stays", async () => {
  const { source, closed } = aSource(false);
  await expect(source.lookUps(["id"], "", stop)).rejects.toMatchObject({ code: "LOOKS_NOT_INDEXED" });
  expect(closed()).toBe(1);
});
