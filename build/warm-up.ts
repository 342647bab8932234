import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { cli } from "../src/cli.ts";
import { pretendPostgres, TENANT_COLUMNS } from "./pretended-postgres.ts";

type Run = typeof cli;

/** Nobody listens there, so each command ends when it has loaded all that it needs. */
const NOBODY = "127.0.0.1:1";

/**
 * Runs commands, so that V8 compiles what they use: from their start to their first contact with a database, and on
 * PostgreSQL to the first call of the service. Resolves to the number of calls.
 */
export async function useAsCommandsDo(run: Run): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-build-"));
  const stopping = new AbortController();
  let calls = 0;
  const service = createServer((_request, response) => {
    calls++;
    stopping.abort();
    response.writeHead(503).end();
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const address = `127.0.0.1:${(service.address() as AddressInfo).port}`;
  const postgres = await pretendPostgres(`http://${address}`);
  const command = async (name: string, at: string, database: string, signal: AbortSignal) => {
    const path = join(folder, "config.yaml");
    writeFileSync(path, stringify(configFor(at, database)), { mode: 0o600 });
    await run(["--config", path, "--log-level", "silent", name], processOf(signal));
  };
  try {
    for (const scheme of ["postgres", "mysql"])
      for (const name of ["plan", "sync", "status"])
        await command(name, NOBODY, `${scheme}://nobody:nothing@${NOBODY}/nowhere`, never);
    const database = `postgres://nobody:nothing@127.0.0.1:${postgres.port}/pretended`;
    await command("sync", address, database, stopping.signal);
    return calls;
  } finally {
    postgres.close();
    service.close();
    rmSync(folder, { recursive: true });
  }
}

const [id, name, mapped, property] = TENANT_COLUMNS;

const configFor = (service: string, database: string) => ({
  service: { base_url: `http://${service}`, api_key: "none" },
  source: { url: database, table: "tenants" },
  group: { id, name, mapping: { "1": mapped }, properties: { plan: property } },
});

const never = new AbortController().signal;

const processOf = (stop: AbortSignal): Parameters<Run>[1] => ({
  stdout: () => {},
  stderr: () => {},
  isTerminal: false,
  onReload: () => {},
  endOnHangUp: () => {},
  onWarning: () => {},
  quit: () => {},
  finish: () => {},
  env: {},
  pid: process.pid,
  uid: process.getuid?.() ?? 0,
  isRunning: () => false,
  terminal: undefined,
  person: () => undefined,
  stop,
});
