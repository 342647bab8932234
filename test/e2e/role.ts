import { aRole } from "../support/databases/role.ts";
import { type ConfigChanges, fromEnvironment, type World } from "./world.ts";

/** Makes a role that may only log in. The program uses this role from now on. Resolves to the role's name. */
export async function asRole(world: World): Promise<string> {
  const { name, url } = await aRole(world.database);
  world.env.DATABASE_URL = url;
  return name;
}

/** The config keys for a source that is read by a role that may read only the customers. */
export async function withReader(world: World): Promise<ConfigChanges> {
  const { name, url } = await aRole(world.database);
  await world.database.query(`GRANT SELECT ON customers TO ${name}`);
  world.env.READER_URL = url;
  const own = { url: fromEnvironment("DATABASE_URL") };
  return { source: { url: fromEnvironment("READER_URL") }, tokens: own, ledger: own };
}
