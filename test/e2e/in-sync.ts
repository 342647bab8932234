import { expect } from "vitest";
import type { FreshDatabase } from "../support/fresh-database.ts";
import type { World } from "./world.ts";

/**
 * That the service has the group of every tenant and no other, and the token table just their tokens.
 * `tokens` is the database of the token table, where it is not the customer's.
 */
export async function expectInSync(world: World, tokens?: FreshDatabase): Promise<void> {
  const groups = await world.groups();
  expect(groups.map(({ user_group_id, name, mapping }) => ({ user_group_id, name, mapping }))).toEqual(
    await world.database.query(
      `SELECT id AS user_group_id, company_name AS name, json_build_object('40', warehouse) AS mapping
       FROM customers ORDER BY id COLLATE "C"`,
    ),
  );
  expect(await world.stored(tokens)).toEqual(await world.live());
}
