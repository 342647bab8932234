import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { installedProgram, unpackedPackage } from "../servers/debian-packages.ts";

/** How to run the MariaDB server, in `env`. */
export interface MariadbPrograms {
  readonly mariadbd: string;
  /** What the server finds its messages in. */
  readonly share: string;
  /** The SQL files that make the system tables, in their order. */
  readonly systemTables: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const SERVER = "mariadbd";

/** Finds an installed MariaDB server, or downloads Debian's. Fails if there is neither. */
export async function mariadbPrograms(): Promise<MariadbPrograms> {
  const installed = installedProgram(SERVER);
  if (installed) return programsOf(await realpath(installed), {});
  const { root, env } = await unpackedPackage("mariadb-server-core");
  return programsOf(join(root, "usr/sbin", SERVER), env);
}

/** Until MariaDB 11 the files have MySQL's name. */
function programsOf(mariadbd: string, env: MariadbPrograms["env"]): MariadbPrograms {
  for (const name of ["mariadb", "mysql"]) {
    const share = join(dirname(mariadbd), "../share", name);
    const systemTables = [
      `${name}_system_tables.sql`,
      `${name}_performance_tables.sql`,
      `${name}_system_tables_data.sql`,
      "maria_add_gis_sp_bootstrap.sql",
      `${name}_sys_schema.sql`,
    ].map((file) => join(share, file));
    if (systemTables.every((file) => existsSync(file))) return { mariadbd, share, systemTables, env };
  }
  throw new Error(`${mariadbd} has no SQL files for its system tables beside it, in ../share`);
}
