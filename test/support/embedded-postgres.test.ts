import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { startPostgres } from "./embedded-postgres.ts";

// Where the run was given a server, PostgreSQL need not be installed.
describe.skipIf(process.env.GROUPSYNC_TEST_POSTGRES_URL)("an embedded PostgreSQL", () => {
  test("stands beside another one, and is gone with its data once stopped", async () => {
    const servers = await Promise.all([startPostgres(), startPostgres()]);
    onTestFinished(async () => {
      await Promise.all(servers.map(({ stop }) => stop()));
    });
    const [one, other] = servers;
    const folders = [await folderOf(one.url), await folderOf(other.url)];
    expect(new Set(folders).size).toBe(2);

    await one.stop();
    await one.stop();
    expect(folders.map(existsSync)).toEqual([false, true]);
    await expect(setting(one.url, "port")).rejects.toThrow("ECONNREFUSED");
    expect(await setting(other.url, "port")).toBe(String(other.port));
  });

  test("commits durably only where it is asked to, and takes any setting", async () => {
    const quick = await startPostgres({ settings: { application_name: "it's quick" } });
    onTestFinished(quick.stop);
    const durable = await startPostgres({ durable: true });
    onTestFinished(durable.stop);
    expect(await setting(quick.url, "fsync")).toBe("off");
    expect(await setting(durable.url, "fsync")).toBe("on");
    expect(await setting(quick.url, "application_name")).toBe("it's quick");
  });

  test("says why it did not start", async () => {
    const start = startPostgres({ settings: { shared_buffers: "a lot" } });
    await expect(start).rejects.toThrow(/did not start:.*shared_buffers/s);
  });

  test("ends with the program that started it, even when that is killed", async () => {
    const module = new URL("embedded-postgres.ts", import.meta.url).href;
    const program = spawn(
      process.execPath,
      [
        "--import",
        "tsx",
        "--input-type=module",
        "--eval",
        `import { startPostgres } from ${JSON.stringify(module)}; console.log((await startPostgres()).url);`,
      ],
      { cwd: fileURLToPath(new URL("../..", import.meta.url)), stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => {
      program.kill("SIGKILL");
    });
    const [url]: string[] = await once(createInterface(program.stdout), "line");
    if (!url) throw new Error("the program printed no url");
    const folder = await folderOf(url);

    program.kill("SIGKILL");
    await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
    await expect(setting(url, "port")).rejects.toThrow("ECONNREFUSED");
  });
});

const folderOf = async (url: string): Promise<string> => dirname(await setting(url, "data_directory"));

async function setting(url: string, name: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ value: string }>("SELECT current_setting($1) AS value", [name]);
    return rows[0]?.value ?? "";
  } finally {
    await client.end();
  }
}
