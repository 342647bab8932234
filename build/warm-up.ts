import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { cli } from "../src/cli.ts";

type Run = typeof cli;

/** Nobody listens there, so each command ends when it has loaded all that it needs. */
const NOBODY = "127.0.0.1:1";

/** Runs commands up to their first contact with a database, so that V8 compiles what they use until then. */
export async function useAsCommandsDo(run: Run): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-build-"));
  const config = join(folder, "config.yaml");
  try {
    for (const scheme of ["postgres", "mysql"]) {
      writeFileSync(config, stringify(configFor(`${scheme}://nobody:nothing@${NOBODY}/nowhere`)), {
        mode: 0o600,
      });
      for (const name of ["plan", "sync", "status"])
        await run(["--config", config, "--log-level", "silent", name], SILENT);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const configFor = (database: string) => ({
  service: { base_url: `http://${NOBODY}`, api_key: "none" },
  source: { url: database, table: "tenants" },
  group: { id: "id", name: "name", mapping: { "1": "a" }, properties: { plan: "b" } },
});

const SILENT: Parameters<Run>[1] = {
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
  stop: new AbortController().signal,
};
