import { expect, onTestFinished, test } from "vitest";
import { someOf } from "../../support/long.ts";
import { startMariadb } from "../../support/mysql/embedded-mariadb.ts";
import { startPostgres } from "../../support/postgres/embedded-postgres.ts";
import type { EmbeddedServer } from "../../support/servers/embedded-server.ts";
import { aWorld } from "../world.ts";

/** MariaDB alone lets a server say that it has another version than it has. */
const sayingThatItIs = (version: string) => startMariadb({ settings: { version } });

const OLD: [found: string, needed: string, start: () => Promise<EmbeddedServer>][] = [
  ["PostgreSQL 12", "PostgreSQL 13", () => startPostgres({ version: 12 })],
  ["MySQL 5.7.44", "MySQL 8.0", () => sayingThatItIs("5.7.44")],
];

test.each(someOf(OLD))(
  "a server that is too old is refused before anything is asked of it: %s",
  async (found, needed, start) => {
    const server = await start().catch((error: unknown) => {
      if (process.env.CI === "true") throw error;
      return undefined;
    });
    if (!server) return console.error(`skipped: no server can be had that is ${found}`);
    onTestFinished(server.stop);
    const world = await aWorld({ config: { deletion: { when: "never" } } });
    const url = new URL(server.url);
    if (url.protocol === "mysql:") url.pathname = "/mysql";
    world.env.DATABASE_URL = url.href;
    for (const command of ["check", "plan", "sync", "status"]) {
      const { code, stdout, stderr } = await world.run(command);
      const said = stdout + stderr;
      expect({ command, code }).toEqual({ command, code: 1 });
      expect(said).toContain(`is ${found}`);
      expect(said).toContain(`groupsync needs ${needed} or later`);
    }
    expect(await world.groups()).toEqual([]);
  },
);
