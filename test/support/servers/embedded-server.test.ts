import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { SERVER_VARIABLES } from "../databases/database-server.ts";
import { SERVERS } from "../databases/fresh-database.ts";
import { startMariadb } from "../mysql/embedded-mariadb.ts";
import { startPostgres } from "../postgres/embedded-postgres.ts";

const KINDS = [
  {
    kind: "postgres",
    start: startPostgres,
    starter: ["../postgres/embedded-postgres.ts", "startPostgres"],
    ask: (setting: string) => `SELECT current_setting('${setting}') AS value`,
    dataFolder: "data_directory",
  },
  {
    kind: "mysql",
    start: startMariadb,
    starter: ["../mysql/embedded-mariadb.ts", "startMariadb"],
    ask: (setting: string) => `SELECT @@GLOBAL.${setting} AS value`,
    dataFolder: "datadir",
  },
] as const;

describe.each(KINDS)("an embedded server, $kind:", ({ kind, start, starter, ask, dataFolder }) => {
  // Where the run was given a server, or none could be had, there need not be one to start.
  const mayBeMissing = process.env[SERVER_VARIABLES[kind]] || inject(`${kind}Url`) === null;

  async function settingOf(url: string, name: string): Promise<string> {
    const { query, end } = SERVERS[kind].connect(url);
    try {
      const [row] = await query(ask(name));
      return String(row?.value);
    } finally {
      await end();
    }
  }
  const folderOf = async (url: string): Promise<string> => dirname(await settingOf(url, dataFolder));

  test.skipIf(mayBeMissing)(
    "it stands beside another one, and is gone with its data once stopped",
    async () => {
      const servers = await Promise.all([start(), start()]);
      onTestFinished(async () => {
        await Promise.all(servers.map(({ stop }) => stop()));
      });
      const [one, other] = servers;
      const folders = [await folderOf(one.url), await folderOf(other.url)];
      expect(new Set(folders).size).toBe(2);

      await one.stop();
      await one.stop();
      expect(folders.map(existsSync)).toEqual([false, true]);
      await expect(settingOf(one.url, "port")).rejects.toThrow("ECONNREFUSED");
      expect(await settingOf(other.url, "port")).toBe(String(other.port));
    },
  );

  test.skipIf(mayBeMissing)("it says why it did not start", async () => {
    const starting = start({ settings: { max_connections: "a lot" } });
    await expect(starting).rejects.toThrow(/did not start:.*max_connections/s);
  });

  test.skipIf(mayBeMissing)(
    "it ends with the program that started it, even when that is killed",
    async () => {
      const [file, name] = starter;
      const module = JSON.stringify(new URL(file, import.meta.url).href);
      const script = `import { ${name} as start } from ${module}; console.log((await start()).url);`;
      const program = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
        cwd: fileURLToPath(new URL("../../..", import.meta.url)),
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => {
        program.kill("SIGKILL");
      });
      const [url]: string[] = await once(createInterface(program.stdout), "line");
      if (!url) throw new Error("the program printed no url");
      const folder = await folderOf(url);

      program.kill("SIGKILL");
      await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
      await expect(settingOf(url, "port")).rejects.toThrow("ECONNREFUSED");
    },
  );
});
