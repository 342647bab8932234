import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { cli } from "../src/cli.ts";

/** Nobody listens there, so each command ends when it has loaded all that it needs. */
const NOBODY = "127.0.0.1:1";

/** Runs commands, so that V8 compiles what they use from their start to their first contact with a database. */
export async function useAsCommandsDo(run: typeof cli): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-build-"));
  try {
    for (const scheme of ["postgres", "mysql"]) {
      const config = join(folder, "config.yaml");
      writeFileSync(config, stringify(configFor(`${scheme}://nobody:nothing@${NOBODY}/nowhere`)), {
        mode: 0o600,
      });
      for (const command of ["plan", "sync", "status"])
        await run(["--config", config, "--log-level", "silent", command], silent, host);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const configFor = (url: string) => ({
  service: { base_url: `http://${NOBODY}`, api_key: "none" },
  source: { url, table: "tenants" },
  group: { id: "id", name: "name", mapping: { "1": "a" }, properties: { plan: "b" } },
});

const { signal } = new AbortController();

const silent: Parameters<typeof cli>[1] = {
  stdout: () => {},
  stderr: () => {},
  isTerminal: false,
  signal,
  onReload: () => {},
  endOnHangUp: () => {},
  onWarning: () => {},
  quit: () => {},
  finish: () => {},
};

const host: Parameters<typeof cli>[2] = {
  env: {},
  pid: process.pid,
  uid: process.getuid?.() ?? 0,
  isRunning: () => false,
  terminal: undefined,
  stop: signal,
};
