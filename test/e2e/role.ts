import { aRole } from "../support/databases/role.ts";
import { type ConfigChanges, fromEnvironment, type World } from "./world.ts";

/** The config keys for a source that is read by a role that may read only the customers. */
export async function withReader(world: World): Promise<ConfigChanges> {
  const { name, url } = await aRole(world.database);
  await world.database.query(`GRANT SELECT ON customers TO ${name}`);
  world.env.READER_URL = url;
  const own = { url: fromEnvironment("DATABASE_URL") };
  return { source: { url: fromEnvironment("READER_URL") }, tokens: own, ledger: own };
}
