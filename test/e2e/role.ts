import { aRole } from "../support/role.ts";
import { type ConfigChanges, fromEnvironment, type World } from "./world.ts";

/** A role that may log in, and nothing else; the program works as it from now on. Resolves to its name. */
export async function asRole(world: World): Promise<string> {
  const { name, url } = await aRole(world.database);
  world.env.DATABASE_URL = url;
  return name;
}

/** The keys by which a role of its own, which may read the customers and nothing else, reads the source. */
export async function withReader(world: World): Promise<ConfigChanges> {
  const { name, url } = await aRole(world.database);
  await world.database.query(`GRANT SELECT ON customers TO ${name}`);
  world.env.READER_URL = url;
  const own = { url: fromEnvironment("DATABASE_URL") };
  return { source: { url: fromEnvironment("READER_URL") }, tokens: own, ledger: own };
}
