import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { ELSEWHERE } from "../../support/databases/elsewhere.ts";
import { listening } from "../../support/servers/listening.ts";
import type { Ended } from "../program.ts";
import { runCommand } from "../warm-program.ts";
import { aWorld } from "../world.ts";

const kind = inject("databaseKind");
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

async function run(command: string, config: object, env: Record<string, string> = {}): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-e2e-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "config.yaml");
  writeFileSync(
    file,
    stringify({
      service: { base_url: "http://127.0.0.1:1", api_key: "k3y" },
      source: { url: `${SCHEME}://127.0.0.1:1/crm`, table: "customers" },
      group: { id: "id", name: "company_name" },
      ...config,
    }),
  );
  const ended = await runCommand(["--config", file, command], env).ended;
  expect(ended.stdout + ended.stderr).not.toContain(PASSWORD);
  return ended;
}

const SCHEME = { postgres: "postgres", mysql: "mysql" }[kind];
const OFF = { postgres: "sslmode=disable", mysql: "ssl-mode=DISABLED" }[kind];
const ON = { postgres: "sslmode=require", mysql: "ssl-mode=REQUIRED" }[kind];
const WEAK = { postgres: "sslmode=prefer", mysql: "ssl-mode=PREFERRED" }[kind];

test.each(["", `?${WEAK}`])(
  "never connects to a database on another host with %j in its url",
  async (query) => {
    const impostor = await anImpostor();
    const url = `${SCHEME}://app:${PASSWORD}@${impostor.at}/crm${query}`;
    const { code, stderr } = await run("plan", { source: { url, table: "customers" } });
    expect(String(impostor.received)).toBe("");
    expect(code).toBe(78);
    expect(stderr).toMatch(/line \d+ +source\.url: /);
    expect(stderr).toContain(ON.split("=")[1]);
    expect(stderr).toContain(OFF.split("=")[1]);
  },
);

test.runIf(kind === "postgres")(
  "sends no password to a server without TLS if the url asks for TLS",
  async () => {
    const impostor = await anImpostor();
    const url = `postgres://app:${PASSWORD}@${impostor.at}/crm?${ON}`;
    expect(await run("plan", { source: { url, table: "customers" } })).toMatchObject({ code: 1 });
    expect(impostor.received.length).toBeGreaterThan(0);
    expect(impostor.received.every(isSslRequest)).toBe(true);
  },
);

test.runIf(kind === "postgres")("ignores PGHOST and PGSSLMODE", async () => {
  const impostor = await anImpostor();
  const [host = "", port = ""] = impostor.at.split(":");
  const env = {
    PGHOST: host,
    PGPORT: port,
    PGPASSWORD: PASSWORD,
    PGSSLMODE: "disable",
  };
  expect(await run("plan", { source: { url: "postgres:///crm", table: "customers" } }, env)).toMatchObject({
    code: 1,
  });
  expect(String(impostor.received)).toBe("");
});

test("sends nothing over http to a service on another host, unless the config allows http", async () => {
  const impostor = await anImpostor();
  const service = { base_url: `http://${impostor.at}`, api_key: "k3y" };
  const { code, stderr } = await run("sync", { service });
  expect(String(impostor.received)).toBe("");
  expect(code).toBe(78);
  expect(stderr).toMatch(/line \d+ +service\.base_url: .*https:\/\/.*allow_http: true/);

  const world = await aWorld({
    tenants: 1,
    service: { host: ELSEWHERE },
    config: { service: { allow_http: true } },
  });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 1 } });
});

test("NODE_TLS_REJECT_UNAUTHORIZED=0 ends the program before anything is contacted", async () => {
  const impostor = await anImpostor();
  const source = { url: `${SCHEME}://app:${PASSWORD}@${impostor.at}/crm?${OFF}`, table: "customers" };
  const { code, stderr } = await run("plan", { source }, { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
  expect(String(impostor.received)).toBe("");
  expect(code).toBe(78);
  expect(stderr).toMatch(/NODE_TLS_REJECT_UNAUTHORIZED[\s\S]*NODE_EXTRA_CA_CERTS/);
});
