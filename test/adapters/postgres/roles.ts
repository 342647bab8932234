import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import type { FreshDatabase } from "../../support/fresh-database.ts";

export interface Role {
  readonly name: string;
  /** The test's database, as this role. */
  readonly url: string;
}

/** A role that may log in to the database and do nothing there yet; it is gone when the test is over. */
export async function aRole({ url, query }: FreshDatabase): Promise<Role> {
  const name = `groupsync_test_${randomBytes(6).toString("hex")}`;
  await query(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'`);
  onTestFinished(async () => {
    await query(`DROP OWNED BY ${name}`);
    await query(`DROP ROLE ${name}`);
  });
  const own = new URL(url);
  own.username = name;
  own.password = "secret";
  return { name, url: own.href };
}
