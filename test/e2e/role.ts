import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import type { World } from "./world.ts";

/** A role that may log in, and nothing else; the program works as it from now on. */
export async function asRole(world: World): Promise<string> {
  const role = `groupsync_test_${randomBytes(6).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  await world.database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  onTestFinished(async () => {
    await world.database.query(`DROP OWNED BY ${role}`);
    await world.database.query(`DROP ROLE ${role}`);
  });
  const url = new URL(world.env.DATABASE_URL!);
  url.username = role;
  url.password = password;
  world.env.DATABASE_URL = url.href;
  return role;
}
