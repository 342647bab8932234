import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { stringify } from "yaml";
import { ELSEWHERE } from "../../support/databases/elsewhere.ts";
import { listening } from "../../support/servers/listening.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Ended } from "../program.ts";
import { runCommand } from "../warm-program.ts";

const PASSWORD = "hunter2-in-clear";

const AUTHENTICATION_CLEARTEXT_PASSWORD = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
const SSL_REQUEST = 80_877_103;

/** A server that poses as PostgreSQL. It has no TLS, asks for the password in clear, and keeps what it receives. */
async function anImpostor() {
  const received: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on("data", (bytes) => {
      received.push(bytes);
      const isStart = bytes.readUInt32BE(0) === bytes.length;
      if (!isStart) socket.destroy();
      else socket.write(isSslRequest(bytes) ? "N" : AUTHENTICATION_CLEARTEXT_PASSWORD);
    });
  });
  const { port } = await listening(server, ELSEWHERE);
  return { at: `${ELSEWHERE}:${port}`, received };
}

const isSslRequest = (bytes: Buffer): boolean => bytes.length === 8 && bytes.readUInt32BE(4) === SSL_REQUEST;

/** Makes a plan from the source at this url. */
async function plan(url: string, env: Record<string, string> = {}): Promise<Ended> {
  const folder = temporaryFolder();
  const file = join(folder, "config.yaml");
  const config = {
    service: { base_url: "http://127.0.0.1:1", api_key: "k3y" },
    source: { url, table: "customers" },
    group: { id: "id", name: "company_name" },
  };
  writeFileSync(file, stringify(config));
  const ended = await runCommand(["--config", file, "plan"], env).ended;
  expect(ended.stdout + ended.stderr).not.toContain(PASSWORD);
  return ended;
}

const onPostgres = test.runIf(inject("databaseKind") === "postgres");

onPostgres("sends no password to a server without TLS if the url asks for TLS", async () => {
  const impostor = await anImpostor();
  const url = `postgres://app:${PASSWORD}@${impostor.at}/crm?sslmode=require`;
  expect(await plan(url)).toMatchObject({ code: 1 });
  expect(impostor.received.length).toBeGreaterThan(0);
  expect(impostor.received.every(isSslRequest)).toBe(true);
});

onPostgres("ignores PGHOST and PGSSLMODE", async () => {
  const impostor = await anImpostor();
  const [host = "", port = ""] = impostor.at.split(":");
  const env = { PGHOST: host, PGPORT: port, PGPASSWORD: PASSWORD, PGSSLMODE: "disable" };
  expect(await plan("postgres:///crm", env)).toMatchObject({ code: 1 });
  expect(String(impostor.received)).toBe("");
});
