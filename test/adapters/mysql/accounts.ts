import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import type { FreshDatabase } from "../../support/fresh-database.ts";

export interface Account {
  /** As GRANT names it. */
  readonly name: string;
  /** The test's database, as this account. */
  readonly url: string;
}

/** An account that may log in and do nothing there yet; it is gone when the test is over. */
export async function anAccount({ url, query }: FreshDatabase): Promise<Account> {
  const user = `test_${randomBytes(6).toString("hex")}`;
  await query(`CREATE USER ${user} IDENTIFIED BY 'secret'`);
  onTestFinished(async () => {
    await query(`DROP USER ${user}`);
  });
  return { name: user, url: Object.assign(new URL(url), { username: user, password: "secret" }).href };
}
