import { expect } from "vitest";
import type { FreshDatabase } from "../support/databases/fresh-database.ts";
import type { World } from "./world.ts";

/**
 * Expects that the service has the group of every tenant and no other, and that the token table has only their tokens.
 * `tokens` is the database of the token table, if it isn't the customer's database.
 */
export async function expectInSync(world: World, tokens?: FreshDatabase): Promise<void> {
  const tenants = await world.database.query<{ id: string; company_name: string; warehouse: string }>(
    "SELECT id, company_name, warehouse FROM customers ORDER BY id",
  );
  const groups = await world.groups();
  expect(groups.map(({ user_group_id, name, mapping }) => ({ user_group_id, name, mapping }))).toEqual(
    tenants.map(({ id, company_name, warehouse }) => ({
      user_group_id: id,
      name: company_name,
      mapping: { "40": warehouse },
    })),
  );
  expect(await world.stored(tokens)).toEqual(await world.live());
}
