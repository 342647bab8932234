import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { SERVER_VARIABLES } from "../databases/database-server.ts";
import { SERVERS } from "../databases/fresh-database.ts";
import { LONG } from "../long.ts";
import { startPostgres } from "../postgres/embedded-postgres.ts";

// Where the run was given a server, or none could be had, there need not be one to start.
const mayBeMissing = process.env[SERVER_VARIABLES.postgres] || inject("postgresUrl") === null;

async function folderOf(url: string): Promise<string> {
  const { query, end } = SERVERS.postgres.connect(url);
  const [row] = await query("SELECT current_setting('data_directory') AS folder").finally(end);
  return dirname(String(row?.folder));
}

describe.skipIf(!LONG || mayBeMissing)("an embedded server", () => {
  test("stands beside another one, and is gone with its data once stopped", async () => {
    const servers = await Promise.all([startPostgres(), startPostgres()]);
    onTestFinished(async () => {
      await Promise.all(servers.map(({ stop }) => stop()));
    });
    const [one, other] = servers;
    const folders = [await folderOf(one.url), await folderOf(other.url)];
    await one.stop();
    await one.stop();
    expect(folders.map(existsSync)).toEqual([false, true]);
    await expect(folderOf(one.url)).rejects.toThrow("ECONNREFUSED");
    expect(await folderOf(other.url)).toBe(folders[1]);
  });

  test("says why it did not start", async () => {
    const starting = startPostgres({ settings: { max_connections: "a lot" } });
    await expect(starting).rejects.toThrow(/did not start:.*max_connections/s);
  });

  test("ends with the program that started it, even when that is killed", async () => {
    const module = JSON.stringify(new URL("../postgres/embedded-postgres.ts", import.meta.url).href);
    const script = `import { startPostgres } from ${module}; console.log((await startPostgres()).url);`;
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
    await expect(folderOf(url)).rejects.toThrow("ECONNREFUSED");
  });
});
