import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { connectionOptions } from "../../../../src/adapters/postgres/connection/connection.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { listening } from "../../../support/servers/listening.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";

const options = (url: string) => connectionOptions(new Secret(url), "groupsync:test");

test.each([
  "postgres://app:p%40ss@localhost:5432/crm",
  "postgresql:///crm?host=/var/run/postgresql",
  "postgres://app@%2Fvar%2Frun%2Fpostgresql/crm",
  "postgres://127.0.0.1/crm?options=-c%20search_path%3Dsales&application_name=mine",
])("a url without TLS reaches the driver as it is: %s", (url) => {
  const { connectionString, ssl } = options(url);
  expect(partsOf(connectionString ?? "")).toEqual(partsOf(url));
  expect(ssl).toBe(false);
});

test("a url without a host leads to this machine, whatever PGHOST says", () => {
  expect(options("postgres:///crm").connectionString).toBe("postgres:///crm?host=localhost");
});

test("a url that leaves it open whether another host is talked to in clear", async () => {
  const connecting = async () => options("postgres://app:hunter2@db/crm");
  expect(await rejection(connecting())).toMatchObject({ code: "CONFIG_TLS" });
});

function partsOf(url: string) {
  const { username, password, host, pathname, searchParams } = new URL(url);
  return { username, password, host, pathname, parameters: [...searchParams] };
}

describe("of TLS the driver's own reading of the url sees nothing:", () => {
  test.each([
    ["sslmode=require", { ssl: { rejectUnauthorized: true } }],
    ["sslmode=no-verify", { ssl: { rejectUnauthorized: false } }],
    ["sslmode=disable", { ssl: false }],
  ])("%s", (parameters, tls) => {
    expect(options(`postgres://db/crm?${parameters}&application_name=mine`)).toMatchObject({
      connectionString: "postgres://db/crm?application_name=mine",
      ...tls,
    });
  });
});

test("a server that is too old is refused before it gets a statement", async () => {
  const message = (type: string, content: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(4 + content.length);
    return Buffer.concat([Buffer.from(type), length, Buffer.from(content)]);
  };
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on("data", (bytes) => {
      received.push(bytes.toString("latin1"));
      if (received.length > 1) return socket.destroy();
      socket.write(message("R", "\0\0\0\0"));
      socket.write(message("S", "server_version\x0012.22\0"));
      return socket.write(message("Z", "I"));
    });
  });
  const { port } = await listening(server);
  const database = aDatabase(`postgres://app@127.0.0.1:${port}/crm`, "postgres");
  expect(await rejection(database.query("SELECT 1"))).toMatchObject({ code: "DATABASE_TOO_OLD" });
  expect(received.filter((text) => text.includes("SELECT"))).toEqual([]);
});
