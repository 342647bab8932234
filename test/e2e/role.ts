import { aRole } from "../support/role.ts";
import type { World } from "./world.ts";

/** A role that may log in, and nothing else; the program works as it from now on. Resolves to its name. */
export async function asRole(world: World): Promise<string> {
  const { name, url } = await aRole(world.database);
  world.env.DATABASE_URL = url;
  return name;
}
