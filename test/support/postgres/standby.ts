import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { EmbeddedServer, ServerOptions } from "../servers/embedded-server.ts";
import { startPostgres } from "./embedded-postgres.ts";

/**
 * Starts a hot standby that streams from this primary (PostgreSQL 15 or later; of the same version). The primary sees
 * it under `name`. `from` is the primary's url, perhaps by way of a proxy.
 */
export async function startStandby(
  primary: Pick<EmbeddedServer, "url">,
  name: string,
  { from = primary.url, ...options }: ServerOptions & { readonly from?: string } = {},
): Promise<EmbeddedServer> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-basebackup-"));
  try {
    const data = join(folder, "data");
    await baseBackup(primary.url, data);
    writeFileSync(join(data, "standby.signal"), "");
    const conninfo = new URL(from);
    conninfo.searchParams.set("application_name", name);
    return await startPostgres({
      ...options,
      data: { folder: data, password: conninfo.password },
      settings: { primary_conninfo: conninfo.href, cluster_name: name, ...options.settings },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As pg_basebackup does, which npm's package doesn't have. */
async function baseBackup(url: string, target: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('standby', true)");
    const { rows } = await client.query("SELECT current_setting('data_directory') AS folder");
    // Files that are removed meanwhile are not needed.
    execFileSync("sh", [
      "-c",
      'cp -a "$1" "$2" 2>/dev/null || test -d "$2/global"',
      "sh",
      rows[0].folder,
      target,
    ]);
    const stopped = await client.query("SELECT labelfile FROM pg_backup_stop(false)");
    writeFileSync(join(target, "backup_label"), stopped.rows[0].labelfile);
    rmSync(join(target, "postmaster.pid"), { force: true });
  } finally {
    await client.end();
  }
}
