import { expect, test } from "vitest";
import type { RowDigest } from "../../../src/core/tenant.ts";
import { collect } from "../../contracts/collect.ts";
import { NEVER } from "../../contracts/rows-of.ts";
import { freshDatabase } from "../../support/fresh-database.ts";
import { postgresSource } from "./source-database.ts";

test.each([
  ["text", "integer", "1"],
  ["text", "boolean", "t"],
  ["text", "jsonb", '{"a": 1}'],
  ["text[]", "integer[]", "{1,2}"],
])(
  "a value that becomes another by its column's type, from %s to %s, gets another digest",
  async (before, after, value) => {
    const { url, query } = await freshDatabase();
    const digest = async (): Promise<RowDigest | undefined> => {
      const snapshot = await postgresSource(url, { table: "customers" }).open(["id", "plan"], "seed", NEVER);
      try {
        return (await collect(snapshot.rows()))[0]?.digest;
      } finally {
        await snapshot.close();
      }
    };
    await query(`CREATE TABLE customers (id text, plan ${before})`);
    await query("INSERT INTO customers VALUES ('a', $1)", [value]);
    const old = await digest();
    await query(`ALTER TABLE customers ALTER plan TYPE ${after} USING plan::${after}`);
    const now = await digest();
    expect(now?.digest).not.toBe(old?.digest);
    expect(now?.bucket).toBe(old?.bucket);
  },
);
