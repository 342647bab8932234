import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { aGroup, aSandbox, type Client } from "./client.ts";

const create = async (client: Client, overrides?: Record<string, unknown>) =>
  (await client.call("GET", aGroup(overrides))).json.user_group;

describe("GET", () => {
  test("creates a group and answers exactly as the interface says", async () => {
    const { client } = await aSandbox({ teamId: 7 });
    const { status, json } = await client.call("GET", aGroup());
    expect(status).toBe(200);
    expect(json).toEqual({
      success: 1,
      new_user_group: true,
      user_group: {
        team_id: 7,
        token: expect.stringMatching(/^[\w-]{32,}$/),
        name: "Acme",
        provided_id: "t-1",
      },
    });
  });

  test("returns an existing group unchanged, with its token", async () => {
    const { client } = await aSandbox();
    const group = await create(client);
    const { json } = await client.call("GET", aGroup({ name: "Acme Inc.", properties: {} }));
    expect(json).toEqual({ success: 1, new_user_group: false, user_group: group });
    expect((await client.page("/sandbox/groups")).json.groups[0]).toMatchObject(aGroup());
  });

  test("with existing: update, updates an existing group and keeps its token", async () => {
    const { client } = await aSandbox({ existing: "update" });
    const group = await create(client);
    const changed = aGroup({ name: "Acme Inc.", mapping: { "40": "other" }, properties: {} });
    const { json } = await client.call("GET", changed);
    expect(json).toEqual({ success: 1, new_user_group: false, user_group: { ...group, name: "Acme Inc." } });
    expect((await client.page("/sandbox/groups")).json.groups).toEqual([
      { ...changed, team_id: 1, token: group.token },
    ]);
  });

  test("reads a body in chunks that split a character", async () => {
    const { baseUrl, apiKey } = await aSandbox();
    const answer = await rawRequest(
      baseUrl,
      `GET /api/user HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${apiKey}\r\n` +
        "Content-Type: application/json; charset=utf-8\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
        chunked(JSON.stringify(aGroup({ name: "Zoë" })), 1),
    );
    expect(answer).toContain('"name":"Zoë"');
  });

  test.each([
    ["no id", { user_group_id: undefined }, "user_group_id"],
    ["an empty id", { user_group_id: "" }, "user_group_id"],
    ["a number as id", { user_group_id: 1 }, "user_group_id"],
    ["no name", { name: undefined }, "name"],
    ["null as name", { name: null }, "name"],
    ["a number in the mapping", { mapping: { "40": 12 } }, "mapping.40"],
    ["no mapping", { mapping: undefined }, "mapping"],
    ["a list as properties", { properties: [] }, "properties"],
  ])("fails with %s", async (_what, overrides, field) => {
    const { client } = await aSandbox();
    const { status, json } = await client.call("GET", aGroup(overrides));
    expect(status).toBe(400);
    expect(json).toEqual({ success: 0, error: expect.stringMatching(new RegExp(`^${field}: `)) });
    expect((await client.page("/sandbox/groups")).json.groups).toEqual([]);
  });
});

describe("POST", () => {
  test("gives the group a new token, and the old token is invalid at once", async () => {
    const { client } = await aSandbox();
    const group = await create(client);
    const rotated = await client.call("POST", { current_token: group.token });
    expect(rotated.json).toEqual({ success: 1, user_group: { ...group, token: expect.any(String) } });
    const { token } = rotated.json.user_group;
    expect(token).not.toBe(group.token);
    expect((await client.call("GET", aGroup())).json.user_group.token).toBe(token);
    expect((await client.call("POST", { current_token: group.token })).status).toBe(404);
  });

  test("fails without a token", async () => {
    const { client } = await aSandbox();
    expect(await client.call("POST", {})).toMatchObject({ status: 400, json: { success: 0 } });
  });
});

describe("DELETE", () => {
  // [deleteBy, the fields sent (live, stale or wrong), status]
  test.each([
    ["both", { user_group_id: "t-1", current_token: "live" }, 200],
    ["both", { user_group_id: "t-1", current_token: "live", data_source_provided_id: "acme-sales" }, 200],
    ["both", { user_group_id: "t-1", current_token: "live", data_source_provided_id: 40 }, 400],
    ["both", { user_group_id: "t-1", current_token: "stale" }, 404],
    ["both", { user_group_id: "t-2", current_token: "live" }, 404],
    ["both", { user_group_id: "t-1" }, 400],
    ["both", { current_token: "live" }, 400],
    ["token", { current_token: "live" }, 200],
    ["token", { user_group_id: "t-2", current_token: "live" }, 200],
    ["token", { user_group_id: "t-1", current_token: "stale" }, 404],
    ["token", { user_group_id: "t-1" }, 400],
    ["id", { user_group_id: "t-1" }, 200],
    ["id", { user_group_id: "t-1", current_token: "stale" }, 200],
    ["id", { user_group_id: "t-2", current_token: "live" }, 404],
    ["id", { current_token: "live" }, 400],
  ] as const)("by %s, sent %j: %i", async (deleteBy, fields, status) => {
    const { client } = await aSandbox({ deleteBy });
    const { token } = await create(client);
    const sent = JSON.parse(JSON.stringify(fields).replace('"live"', JSON.stringify(token)));
    const answer = await client.call("DELETE", sent);
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.json).toEqual({ success: 1 });
    else expect(answer.json.success).toBe(0);
    expect((await client.page("/sandbox/groups")).json.groups).toHaveLength(status === 200 ? 0 : 1);
  });

  test("lets GET create the group again, with another token", async () => {
    const { client } = await aSandbox();
    const { token } = await create(client);
    await client.call("DELETE", { user_group_id: "t-1", current_token: token });
    const { json } = await client.call("GET", aGroup());
    expect(json.new_user_group).toBe(true);
    expect(json.user_group.token).not.toBe(token);
  });
});

describe("a bad request", () => {
  const cases: [string, string, unknown, Record<string, string>, number][] = [
    ["another key", "GET", aGroup(), { authorization: "Token other" }, 401],
    ["another scheme", "GET", aGroup(), { authorization: "Bearer key" }, 401],
    ["another content type", "GET", aGroup(), { "content-type": "text/plain" }, 415],
    ["another method", "PUT", aGroup(), {}, 405],
    ["broken JSON", "GET", '{"user_group_id":', {}, 400],
    ["no body", "GET", "", {}, 400],
    ["JSON that is no object", "POST", [1], {}, 400],
    ["a body over 1 MiB", "GET", aGroup({ name: "x".repeat(1024 * 1024) }), {}, 413],
  ];

  test.each(cases)("%s: answered with an error status", async (_what, method, body, headers, status) => {
    const { client } = await aSandbox({ apiKey: "key" });
    const answer = await client.call(method, body, headers);
    expect(answer).toMatchObject({ status, json: { success: 0, error: expect.any(String) } });
  });

  test("with errors: body, answered with success 0", async () => {
    const { client } = await aSandbox({ apiKey: "key", errors: "body" });
    expect(await client.call("GET", "{")).toMatchObject({ status: 200, json: { success: 0 } });
  });

  test("an unknown path is 404", async () => {
    const { client } = await aSandbox();
    expect((await client.page("/api/users")).status).toBe(404);
  });
});

const chunked = (text: string, size: number): string => {
  const bytes = Buffer.from(text);
  const chunks: string[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    chunks.push(`${piece.length.toString(16)}\r\n${piece.toString("latin1")}\r\n`);
  }
  return `${chunks.join("")}0\r\n\r\n`;
};

async function rawRequest(baseUrl: string, text: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.end(Buffer.from(text, "latin1"));
  return Buffer.concat(await socket.toArray()).toString();
}
